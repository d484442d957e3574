"""Small questions to a server outside the measured requests: its info, its metrics, its cache."""

from __future__ import annotations

import http.client
import json
import urllib.request

LIMIT_S = 20.0
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The measured requests take no proxy of the environment either: it knows nothing of a port on this machine."""


def text(url: str, post: bool = False, limit_s: float = LIMIT_S) -> str | None:
    """The body of a 2xx answer; None for anything else, also for no answer and for half of one."""
    try:
        with DIRECT.open(urllib.request.Request(url, method="POST" if post else "GET"), timeout=limit_s) as answer:
            return answer.read().decode("utf8", errors="replace")
    except (OSError, http.client.HTTPException, ValueError):
        return None


def document(url: str) -> dict | None:
    """A JSON object; None where there is none."""
    body = text(url)
    if body is None:
        return None
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
