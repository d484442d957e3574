"""The speedup of speculative decoding as one division, and what follows from it.

speedup(B, γ) = τ (T_d(B) + o) / (T_draft(B, γ) + Σ_w π_w T_v(B, w) + T_commit + r(B, γ))

τ: tokens a round gives the user, pooled over the set. T_d: the blocks of one plain step, per token of a row. o: what a token of plain
decoding costs outside those blocks. π_w: share of rounds whose verification was w positions wide (a round without a draft is width 1).
r: what a round costs outside its blocks. Where speculation amortises none of o, r is τ o, and o cancels at break-even; a measured r
says how much of it is amortised. Works on plain numbers and on Samples alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def mixture_ms(shares: Mapping[int, object], verify_ms: Mapping[int, object]):
    """Σ_w π_w T_v(w). `shares` sum to one; both are keyed by the width w in positions."""
    terms = [share * verify_ms[width] for width, share in shares.items()]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def outside(tau, other, round_other=None):
    """Time of a round outside its blocks: the measured one, or o for each of its tokens."""
    return tau * other if round_other is None else round_other


def speedup(tau, decode, other, draft, verify, commit, round_other=None):
    """Time per token of plain decoding over that of speculation. `verify` is the mixture over widths."""
    return tau * (decode + other) / (draft + verify + commit + outside(tau, other, round_other))


def break_even_verify(tau, decode, other, draft, commit, round_other=None):
    """The most that verification may cost before speculation loses."""
    return tau * (decode + other) - draft - commit - outside(tau, other, round_other)


def can_never_pay(verify, token, gamma: int) -> bool:
    """True when verifying γ + 1 positions costs what decoding them one by one does (`token`: T_d + o): no acceptance can repay it."""
    return verify >= (gamma + 1) * token


def reached(histogram: Sequence[float]) -> list[float]:
    """P(c >= k) for k = 1 ... γ from rounds by accepted count [γ + 1]."""
    total = sum(histogram)
    return [sum(histogram[k:]) / total for k in range(1, len(histogram))]


def tau_of(histogram: Sequence[float], gamma: int, emitted_share: float = 1.0) -> float:
    """Tokens a round at a smaller block size, from the counts of a run at a larger one: the bonus, and the drafts reached.

    `emitted_share` is emitted over committed tokens (EOS and limits cut the last round of a request).
    """
    return (1 + sum(reached(histogram)[:gamma])) * emitted_share
