"""Do the lanes say the same? Greedy outputs of every arm against the plain lane, prompt by prompt."""

from __future__ import annotations

from collections.abc import Sequence

from engine.csvio import Row

# Differing prompts that the manifest names; the count is complete.
NAMED = 20


def lossless(points: Sequence[Row], requests: Sequence[Row]) -> dict:
    """{"compared", "equal", "differing"} over requests whose prompt and limit the plain lane has run too.

    The reference is the first plain output of a prompt; plain cells at another load are compared with it like any other.
    """
    of_point = {point["run_id"]: point for point in points}
    reference: dict[tuple, tuple[str, str]] = {}
    rest = []
    for request in requests:
        point = of_point[request["run_id"]]
        if request["status"] != "ok" or point["stage"] == "sentinel" or point.get("temperature") or request["output_sha"] is None:
            continue
        # execution modes may round differently, and a sampled text is one of many
        key = (request["prompt_id"], request["isl"], point["osl"], point.get("mode"), point["ignore_eos"], point.get("mamba_ssm_dtype"))
        if point["lane"] == "plain" and key not in reference:
            reference[key] = (request["run_id"], request["output_sha"])
        else:
            rest.append((key, request, point))
    compared, differing = 0, []
    for key, request, point in rest:
        if key in reference:
            compared += 1
            if request["output_sha"] != reference[key][1]:
                differing.append(f"{request['prompt_id']} {point['label']} x{point['max_concurrency']}")
    return {"compared": compared, "equal": compared - len(differing), "differing": sorted(differing)[:NAMED]}
