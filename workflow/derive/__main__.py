"""Derive the facts and claims of one campaign.

python -m workflow.derive --campaign workflow/campaigns/local --out workflow/build/local
python -m workflow.derive --list
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from workflow.collector import no_collections
from workflow.derive import identity, load, registry, schema
from workflow.derive.evaluate import Derivation
from workflow.derive.output import OutputError, json_lines, write_together
from workflow.derive.registry import DefinitionError
from workflow.derive.thresholds import THRESHOLDS, thresholds_digest
from workflow.derive.units import UnitError
from workflow.derive.values import SCHEMA, Values, natural


@no_collections()
def derive(folder: Path, code: Path | None = None) -> Values:
    """All facts and claims of a campaign folder. Raises SchemaError, UnitError, and IdentityError when a prediction cannot fail.

    `code`: fingerprint of the code in the working tree (`python -m engine.fingerprint --out`).
    """
    campaign = load.load(folder)
    values = Derivation(campaign, code=schema.read_json(code) if code else None).values()
    identity.check_predictions(campaign)
    return values


def write(values: Values, out: Path) -> None:
    """Write values.json and claims.json, both or neither, after checking them against their schemas."""
    documents = {"values": values.to_json(), "claims": {"schema": SCHEMA, "campaign": values.campaign, "claims": values.claims_json()}}
    texts = {}
    for name, document in documents.items():
        path = out / f"{name}.json"
        schema.check_document(path, document, name)
        texts[path] = json_lines(document)
    write_together(texts)


def listing() -> str:
    """Every key that any campaign has, with kind and unit, and every claim with what it states."""
    domains = {name: tuple(values) for name, values in registry.DECLARED.items()}
    facts = registry.expand(registry.FACTS, domains)
    lines = [
        f"{key}\t{definition.kind}\t{definition.unit or '-'}\t{definition.status}\t{definition.formula}"
        for key, (definition, _) in sorted(facts.items(), key=lambda item: natural(item[0]))
    ]
    claims = registry.expand(registry.CLAIMS, domains)
    lines += [
        f"{key}\tclaim\t{definition.kind}\t-\t{definition.formula}"
        for key, (definition, _) in sorted(claims.items(), key=lambda item: natural(item[0]))
    ]
    return "\n".join(lines)


def summary(values: Values) -> str:
    missing = [fact for fact in values.facts.values() if fact.missing]
    verdicts = Counter(claim.verdict for claim in values.claims.values())
    text = f"{values.campaign}: {len(values.facts) - len(missing)} facts, {len(missing)} missing; claims: " + ", ".join(
        f"{n} {name}" for name, n in sorted(verdicts.items())
    )
    changed = {manifest.get("thresholds_sha256") for manifest in values.runs.values()} - {thresholds_digest(), None}
    if changed:
        text += f"\n{values.campaign}: {THRESHOLDS.name} is not the file that stood there when the rows were measured"
    return text


@no_collections()
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.derive", description=__doc__.splitlines()[0])
    parser.add_argument("--campaign", type=Path, help="campaign folder: campaign.yaml, CSVs, manifests")
    parser.add_argument("--out", type=Path, help="folder for values.json and claims.json")
    parser.add_argument("--code", type=Path, metavar="FILE", help="fingerprint of today's measuring code, to tell what other code measured")
    parser.add_argument("--list", action="store_true", help="print every key and claim, tab-separated: key, kind, unit, status, formula")
    arguments = parser.parse_args(argv)
    if arguments.list:
        import workflow.derive.claims
        import workflow.derive.facts  # noqa: F401

        print(listing())
        return 0
    if arguments.campaign is None or arguments.out is None:
        parser.error("--campaign and --out are both needed (or --list)")
    try:
        values = derive(arguments.campaign, arguments.code)
        write(values, arguments.out)
    except (schema.SchemaError, OutputError, UnitError, DefinitionError) as error:
        print(f"derive: {error}", file=sys.stderr)
        return 2
    except identity.IdentityError as error:
        print(f"derive: {error}", file=sys.stderr)
        return 1
    print(summary(values))
    return 0


if __name__ == "__main__":
    sys.exit(main())
