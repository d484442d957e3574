# Soundings: measure -> keep -> derive -> figures -> site. The rules hold no logic; `python -m engine.x` and `workflow.x` do.
import gc
import sys
from pathlib import Path

from snakemake.utils import min_version

from workflow.imports import code_of
from workflow.page.listing import site_files
from workflow.plan import STAGES, Plan, check_config, read_config, sources
from workflow.recover import drop_stale_marks
from workflow.told import say

min_version("9.20")
gc.freeze()  # Snakemake's modules stay until it ends; to walk them at each collection takes longer than to find that there is nothing to do


configfile: "workflow/config.yaml"


read_config(Path("workflow/config.yaml"))  # strictly: of two equal keys Snakemake takes the last
check_config(Path("--config"), config)  # the file is right, so what is wrong now stood on the command line

PYTHON = sys.executable  # the interpreter that runs snakemake, whether or not its environment is activated
PLAN = Plan.from_config(config)
drop_stale_marks(Path.cwd())  # of a run that was killed; a run that lives keeps its own


wildcard_constraints:
    campaign="[a-z0-9][a-z0-9-]*",


include: "workflow/rules/common.smk"
include: "workflow/rules/site.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/derive.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/publish.smk"


onsuccess:
    say(Path("workflow/build"))  # what moved, when new rows changed the page
