"""The measuring run as a whole: when, how long, how much."""

from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample
from workflow.derive.thresholds import thresholds_digest


def commands(read) -> dict[str, dict]:
    """Manifests of measuring commands by family; a transcribed manifest has no command and no clock."""
    found = {family: manifest for family, manifest in read.campaign.commands.items() if manifest.get("end")}
    if not found:
        raise Missing("this campaign has no manifest of a measuring command")
    return found


def latest(read) -> str:
    """The family measured last."""
    found = commands(read)
    return max(found, key=lambda family: found[family]["end"])


def measured(read):
    """Families with points."""
    if not read.campaign.families:
        raise Missing("this campaign has no points: neither search.csv nor sweep_*.csv")
    return read.campaign.families


def all_points(read, family):
    """Every point of a family, failed ones included."""
    return read.points(
        family,
        stage=tuple(read.campaign.find("points", family).distinct("stage")),
        status=("ok", "oom", "crash", "timeout", "skipped", "rejected"),
    )


def counted(points, column: str) -> float:
    """Sum of a column of counts; a point that ended before it counted anything has none."""
    return sum(float(text or 0) for text in points.texts(column))


@fact("run.campaign", kind="label")
def campaign(read):
    """name of the campaign, which is that of its folder"""
    commands(read)
    return read.campaign.name


@fact("run.commit", kind="label")
def commit(read):
    """commit of the sweep measured last"""
    return read.manifest("commit", latest(read))[:12]


@fact("run.dirty", kind="label")
def dirty(read):
    """whether tracked files differed from that commit"""
    return "dirty" if read.manifest("dirty", latest(read)) else "clean"


@fact("run.started", kind="label")
def started(read):
    """start of the first measuring command"""
    found = commands(read)
    first = min(found, key=lambda family: found[family]["start"])
    return read.manifest("start", first)


@fact("run.year", kind="label")
def year(read):
    """year in which the sweep measured last ended"""
    return read.manifest("end", latest(read))[:4]


@fact("run.minutes", kind="duration", unit="min")
def minutes(read):
    """sum of the measuring commands' durations, boots included"""
    latest(read)
    return sum((Sample(read.manifest("cost.total_s", family), "s") for family in read.campaign.commands), Sample(0.0, "s"))


@fact("run.cells", kind="count")
def cells(read):
    """rows of the points files, failed ones included"""
    return sum(len(all_points(read, family).texts("run_id")) for family in measured(read))


@fact("run.boots", kind="count")
def boots(read):
    """distinct processes that served a point"""
    found = [set(all_points(read, family).texts("boot_id")) for family in measured(read)]
    if any("" in names for names in found):
        raise Missing("the rows do not say which boot they come from")
    return sum(map(len, found))


@fact("run.requests", kind="count")
def requests(read):
    """sum of completed and failed requests over all points; a point that ended before it counted them has none"""
    return sum(counted(all_points(read, family), column) for family in measured(read) for column in ("completed", "failed"))


@fact("run.failed", kind="count")
def failed(read):
    """failed requests over all points; a point that ended before it counted its requests has none"""
    return sum(counted(all_points(read, family), "failed") for family in measured(read))


# How a point can end other than well, as readers tell it apart: thrown away on the word of the probe and measured again, out of memory, broken.
ENDED = {"again": ("rejected",), "oom": ("oom",), "broken": ("crash", "timeout")}


@fact("run.cells_{how}", kind="count", how=tuple(ENDED))
def cells_ended(read, how):
    """points by how they ended: `rejected` was measured again, `oom` ran out of memory, `crash` and `timeout` are broken"""
    return sum(status in ENDED[how] for family in measured(read) for status in all_points(read, family).texts("status"))


@fact("run.load_average", kind="length")
def load_average(read):
    """largest one-minute load average at the start of a measuring command"""
    latest(read)
    return max(read.manifest("machine.load_average_start", family)[0] for family in read.campaign.commands)


@fact("run.lossless.{count}", kind="count", count=("compared", "equal"))
def lossless(read, count):
    """greedy outputs of speculative lanes set against plain decoding's, summed over the measuring commands"""
    families = [family for family, manifest in read.campaign.commands.items() if "lossless" in manifest]
    if not families:
        raise Missing("no manifest of this campaign compared outputs between lanes")
    return sum(read.manifest(f"lossless.{count}", family) for family in families)


@fact("run.lossless.differing", kind="count")
def lossless_differing(read):
    """outputs compared - outputs equal"""
    return read["run.lossless.compared"] - read["run.lossless.equal"]


@fact("run.thresholds", kind="label")
def thresholds(read):
    """whether thresholds.yaml is the file that stood there when the rows were measured"""
    return "unchanged" if read.manifest("thresholds_sha256") == thresholds_digest() else "changed"
