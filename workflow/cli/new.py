"""`soundings new NAME`: start a live campaign from the definition of another one."""

from __future__ import annotations

import argparse
import json
import os
import shutil

import yaml

from workflow.cli import BadInput
from workflow.cli.archive import check_name
from workflow.plan import CAMPAIGNS, ROOT

HELP = "start a live campaign: a folder with its campaign.yaml"
BACKENDS = ("embedded", "sglang", "vllm", "llamacpp", "openai", "soundings")
LIKE = "local"
OWN_STAGES = ("verify_cost", "kernels")
"""Stages that look inside the embedded engine; no server has them."""
SERVER = """\
  # what to launch; words may hold {host}, {port}, {rank}, {nnodes}, {dist_init_addr}, {name} and {model}
  server:
    model: MODEL
    # prompts are sent as ids of this file
    tokenizer: MODEL/tokenizer.json
    # flags of every boot; the settings under `engine` become flags by themselves
    flags: []
    # prefix: [docker, run, --rm, --name, "{name}", IMAGE]
    # stop_command: [docker, stop, "{name}"]
    # image_digest and weights_revision, where they cannot be read, belong to what a cell is
    first_boot_s: 1800
    later_boot_s: 600
    silence_s: 300
"""
ON_GPU = ("sglang", "vllm")
GPUS = """\
  # accelerators that a measuring job asks a cluster for (workflow/profiles)
  gpus: 1
"""
RUNNING = """\
  server:
    # of a server that runs already
    url: http://127.0.0.1:8000
    model: MODEL
    tokenizer: MODEL/tokenizer.json
"""
OURS = """\
  server:
    tokenizer: engine/weights/tokenizer.json
    bos_token_id: 1
"""
SECTIONS = {"openai": RUNNING, "soundings": OURS}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="name of the campaign: lower-case letters, digits and dashes")
    parser.add_argument("--backend", choices=BACKENDS, default="embedded", help="what is measured (default: embedded, the engine of this project)")
    parser.add_argument("--title-en", metavar="TEXT", help="English title (default: the name)")
    parser.add_argument("--title-zh", metavar="TEXT", help="Chinese title (default: the name)")
    parser.add_argument("--hardware", metavar="TEXT", default="", help="a note on the machine; what can be read from it goes into the manifests")
    parser.add_argument("--json", action="store_true", help="one JSON object with the name and its file")


def run(arguments: argparse.Namespace) -> int:
    check_name(arguments.name)
    folder = ROOT / CAMPAIGNS / arguments.name
    if folder.exists():
        raise BadInput(f"{CAMPAIGNS / arguments.name}: exists already; choose another name")
    model = ROOT / CAMPAIGNS / LIKE / "campaign.yaml"
    head = {
        "name": arguments.name,
        "title": {"en": arguments.title_en or arguments.name, "zh": arguments.title_zh or arguments.name},
        "backend": arguments.backend,
        "hardware": arguments.hardware or "not described; the manifests say what could be read",
    }
    # the grids keep their comments, so the text from `measure:` on is copied rather than parsed and written again
    text = model.read_text("utf8")
    measure = measured_by(arguments.backend, text[text.index("\nmeasure:") + 1 :])
    part = folder.with_name(f".{arguments.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
    try:
        part.mkdir()
        (part / "campaign.yaml").write_text(yaml.safe_dump(head, allow_unicode=True, sort_keys=False) + measure, "utf8")
        os.replace(part, folder)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise BadInput(f"{part}: {error.strerror}") from None
    if arguments.json:
        print(json.dumps({"campaign": arguments.name, "file": f"{CAMPAIGNS / arguments.name}/campaign.yaml"}))
        return 0
    if "MODEL" in measure:
        print(f"put the model's name in place of MODEL under measure.server of {CAMPAIGNS / arguments.name}/campaign.yaml")
    print(f"{CAMPAIGNS / arguments.name}/campaign.yaml; put {arguments.name} under `campaigns:` of workflow/config.yaml to measure it")
    return 0


def measured_by(backend: str, measure: str) -> str:
    """The `measure:` section for a backend: a server gets its own section and none of the stages that look inside an engine."""
    if backend == "embedded":
        return measure
    head, mark, stages = measure.partition("  stages:\n")
    if backend == "openai":
        # what runs already cannot be given settings
        head = head.partition("  engine:\n")[0]
    return head + (GPUS if backend in ON_GPU else "") + SECTIONS.get(backend, SERVER) + mark + "".join(kept(stages.splitlines(keepends=True)))


def kept(lines: list[str]) -> list[str]:
    """Lines of the stages without OWN_STAGES and the comments in front of them."""
    found: list[str] = []
    inside = False
    for line in lines:
        if line.startswith("    ") and line[4] not in " \n#":
            inside = line.strip().partition(":")[0] in OWN_STAGES
            while inside and found and found[-1].startswith("    #"):
                found.pop()
        elif line.startswith("    #"):
            inside = False
        if not inside:
            found.append(line)
    return found
