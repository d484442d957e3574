"""The files that a build writes, known before anything is built (the outputs of the site rule)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import yaml

from workflow.derive.measuring import SERVERS
from workflow.page.routes import ASSETS, IMPORTED, MACHINES, RESERVED, SERVED, routes
from workflow.plan import Plan
from workflow.yaml_file import Strict


def plate_ids(templates: Path, names: set[str]) -> list[str]:
    """Plates of the English sections that a campaign of these `names` has (see `Content.of`), in page order; read from the front matter alone."""
    found: dict[str, None] = {}
    for path in sorted((templates / "content" / "en").glob("*.md")):
        parts = path.read_text("utf8").split("---\n", 2)
        if len(parts) == 3:
            front = yaml.load(parts[1], Loader=Strict) or {}
            if names & set(front.get("only") or names) and not names & set(front.get("except") or ()):
                found.update(dict.fromkeys(front.get("plates") or ()))
    return list(found)


def site_files(plan: Plan, site: str = "site") -> list[str]:
    """Every file below the site folder, for all campaigns of a plan, sorted. Raises ValueError on a campaign named like a route."""
    files = [*(f"assets/{name}" for name in ASSETS), *MACHINES]
    for name in plan.names:
        if name in RESERVED and name != plan.lead:
            raise ValueError(f"workflow/config.yaml: a campaign may not be called {name!r}, that is a route of the site")
        # a row file that the repository carries gzipped is published as the CSV that its checksum is of
        measured = [PurePosixPath(path).name.removesuffix(".gz") for path in plan.kept(name)]
        backend = plan.definition(name).get("backend")
        names = {name} | ({IMPORTED} if backend == IMPORTED else {SERVED} if backend in SERVERS else set())
        plates = plate_ids(plan.root / "templates", names)
        files += routes(name, plan.lead).files(measured, plates)
    return sorted(f"{site}/{file}" for file in files)
