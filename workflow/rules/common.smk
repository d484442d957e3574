# What the measuring rules share. These texts and `params` are what Snakemake compares: flags belong into workflow/measure.py, where an edit fires nothing.

MEASURE = "{PYTHON:q} -m workflow.measure {rule} --campaign {wildcards.campaign} --preset {config[preset]} --log {log:q} {input:q}"
MEASURE_PART = "{PYTHON:q} -m workflow.measure {rule} --campaign {wildcards.campaign} --preset {config[preset]} --log {log:q} --part {wildcards.part}/{wildcards.of}"


def ALONE(wildcards):
    """Every core, so that no other job runs beside a measurement; the engine itself pins one."""
    return workflow.cores or 1


def parts_of(stage):
    """What a sweep's files are made of, as input: the parts to measure where it is asked for, else those of its last measurement."""

    def files(wildcards):
        asked = workflow.dag_settings.forceall or {stage.rule, stage.gather} & set(workflow.dag_settings.forcerun)
        return PLAN.parts_of(wildcards.campaign, stage, bool(asked))

    return files


# What a measuring job asks for where its campaign has `gpus`. Named only where one does: to an executor that knows no accelerators none is no resource.
GPU = {"gpu": lambda wildcards: PLAN.gpus.get(wildcards.campaign, 0)} if PLAN.gpus else {}
