"""All campaigns of a plan to the files of the site; written only when no check found anything."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from workflow.collector import no_collections
from workflow.derive.moved import Move
from workflow.derive.schema import read_bytes
from workflow.derive.values import Values
from workflow.page import lint_chinese, moved
from workflow.page.assets import served
from workflow.page.errors import PageError, Problem
from workflow.page.feed import Entry, feed, sitemap
from workflow.page.inert import UNSAFE, inert_json
from workflow.page.links import Links
from workflow.page.plates import picture
from workflow.page.previous import Published
from workflow.page.render import Builder, Campaign, Page, Sources
from workflow.page.routes import ASSETS, LANGUAGES, routes
from workflow.page.words import TEMPLATES
from workflow.plan import CAMPAIGNS, Plan

PLAIN = re.compile(r"[^\s<>{}*`][^<>{}*`\n]*")
"""What a title or a name may be made of."""


@dataclass
class Result:
    files: dict[str, bytes] = field(default_factory=dict)
    """Path below the site folder -> content."""
    problems: list[Problem] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    moves: dict[str, list[Move]] = field(default_factory=dict)
    """Campaign -> what changed since its previous publication."""


@no_collections()
def build(
    plan: Plan, folder: Path, templates: Path = TEMPLATES, site_url: str = "", previous: dict[str, Published | None] | None = None
) -> Result:
    """Every file of the site, and every problem. Raises PageError or OSError when an input cannot be read at all.

    `folder`: NAME/values.json, NAME/claims.json and NAME/figures of each campaign. `previous`: campaign -> publication to compare with.
    `site_url`: address of the site's folder, with or without its last slash; empty: relative links only.
    """
    site_url = f"{site_url.rstrip('/')}/" if site_url else ""
    sources = Sources.load(templates)
    result = Result({f"assets/{name}": served(templates / "assets" / name) for name in ASSETS})
    pages: list[Page] = []
    for name in plan.names:
        pages += _campaign(name, plan, folder, sources, site_url, result, (previous or {}).get(name))
    result.files["feed.xml"] = feed(map(_entry, (page for page in pages if page.template == "report.html.j2")), site_url)
    result.files["sitemap.xml"] = sitemap((routes(name, plan.lead) for name in plan.names), site_url)
    _check_links(pages, result)
    result.problems = sorted(set(result.problems))
    return result


def _campaign(name: str, plan: Plan, folder: Path, sources: Sources, site_url: str, result: Result, previous: Published | None) -> list[Page]:
    here, values_file = routes(name, plan.lead), folder / name / "values.json"
    if not values_file.exists():
        raise PageError.at(
            str(values_file), 0, f"not there; derive it with `python -m workflow.derive --campaign workflow/campaigns/{name}`"
        )
    others = tuple((other, routes(other, plan.lead)) for other in plan.names)
    builder = Builder(sources, Campaign(name, here, _values(values_file), folder / name / "figures", others, _titles(plan), _authors(name, plan), previous, site_url))
    builder.check_sources()
    builder.widen()
    pages = list(builder.pages())
    for page in pages:
        result.files[page.path] = page.html.encode()
        result.log.append(f"{page.path}: {page.coverage}")
    result.moves[name] = builder.moves
    result.log.append(f"{name}: moved: {moved.summary(builder.moves) or 'no previous publication'}")
    result.files |= {path: script.encode() for path, script in builder.data.items()}
    try:
        result.files |= {path: svg.encode() for path, svg in builder.figures()}
    except PageError as error:
        builder.problems += error.problems
    result.files[here.share()] = picture(folder / name / "figures")
    result.files[f"{here.prefix}values.json"] = values_file.read_bytes()
    claims = folder / name / "claims.json"
    result.files[f"{here.prefix}claims.json"] = (
        claims.read_bytes() if claims.exists() else json.dumps(builder.campaign.values.claims_json(), indent=1).encode()
    )
    for path in map(Path, plan.kept(name)):
        result.files[here.data(path.name.removesuffix(".gz"))] = read_bytes(plan.root / path)
    result.problems += builder.problems
    return pages


def _titles(plan: Plan) -> dict[str, dict[str, str]]:
    """Campaign -> title by language, of those whose campaign.yaml gives one in each that can stand in a heading: without marks of another kind of text, and
    in Chinese set as this site sets it. Any other campaign goes by its name."""
    found = {}
    for name in plan.names:
        if (plan.root / CAMPAIGNS / name / "campaign.yaml").is_file():
            title = plan.definition(name).get("title")
            plain = isinstance(title, dict) and all(PLAIN.fullmatch(str(title.get(language) or "")) for language in LANGUAGES)
            if plain and not list(lint_chinese.source_findings(str(title["zh"]))):
                found[name] = {language: str(title[language]) for language in LANGUAGES}
    return found


def _authors(name: str, plan: Plan) -> tuple[str, ...]:
    """Names that a campaign's own campaign.yaml gives, those that can stand in text."""
    if not (plan.root / CAMPAIGNS / name / "campaign.yaml").is_file():
        return ()
    return tuple(str(one) for one in plan.definition(name).get("authors") or () if PLAIN.fullmatch(str(one)))


def _entry(page: Page) -> Entry:
    """What the feed tells of a report: its own title and description."""
    title, summary = page.root.xpath("string(//title)"), page.root.xpath("string(//meta[@name='description']/@content)")
    return Entry(page.campaign, page.language, page.path, title, summary, page.updated)


def _values(file: Path) -> Values:
    """The values of a campaign with every text from outside made harmless."""
    values, text = Values.load(file), file.read_text("utf8")
    # JSON writes most of what is unsafe as an escape
    return Values.from_json(inert_json(values.to_json())) if "\\u" in text or UNSAFE.search(text) else values


def _check_links(pages: list[Page], result: Result) -> None:
    links, by_path = Links(set(result.files)), {page.path: page for page in pages}
    for page in pages:
        result.problems += [page.problem(finding) for finding in links.add(page.path, page.root, page.marks)]
    result.problems += [by_path[path].problem(finding) for path, finding in links.check()]


def write(files: dict[str, bytes], site: Path) -> None:
    """All files beside their places first, then renamed into them; a file that is already so only gets a new time.

    Raises OSError before anything of the site is replaced: where a folder stands in a file's place, or nothing can be written.
    """
    fresh: list[tuple[str, Path]] = []
    try:
        for name, content in sorted(files.items()):
            target = site / name
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a folder stands where the page writes a file; move it away", str(target))
            if target.exists() and target.read_bytes() == content:
                os.utime(target)  # Snakemake compares times: this output is up to date
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".page-")
            fresh.append((temporary, target))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(temporary, 0o644)
        while fresh:
            os.replace(*fresh[0])
            fresh.pop(0)
    finally:
        for temporary, _ in fresh:
            os.unlink(temporary)
