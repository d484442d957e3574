# Measuring rules have no inputs, so that no checkout's file times can fire them, and only live campaigns match them.
# `keep` moves what was measured into the campaign folder, the only place that is read downstream. Snakemake deletes a rule's
# outputs before it runs unless they are marked `update`: a measurement that dies or is invalid leaves the published row in place.


rule measure:
    input:
        [PLAN.kept(name) for name in PLAN.live],


for stage in STAGES:

    rule:
        name:
            stage.rule
        output:
            expand("workflow/build/measured/{{campaign}}/{file}", file=stage.files),
        wildcard_constraints:
            campaign=PLAN.live_pattern,
        log:
            f"workflow/build/logs/{{campaign}}/{stage.rule}.log",
        # In the order of STAGES: the search is first, since its A/A pairs say what the others can resolve and its winner is gated.
        # A priority, no input: a measurement may not fire because another was repeated.
        priority: len(STAGES) - STAGES.index(stage),
        # Every core, so that no other job runs beside a measurement; the engine itself pins one.
        threads: lambda wildcards: workflow.cores or 1
        resources:
            bench=1,
            mem_mb=6000,
            runtime=60,
        # This text and `params` are what Snakemake compares: flags belong into workflow/measure.py, where an edit fires nothing.
        shell:
            "{PYTHON:q} -m workflow.measure {rule} --campaign {wildcards.campaign} --preset {config[preset]} --log {log:q}"

    rule:
        name:
            f"keep_{stage.name}"
        input:
            expand("workflow/build/measured/{{campaign}}/{file}", file=stage.files),
        output:
            update(expand("workflow/campaigns/{{campaign}}/{file}", file=stage.files)),
        wildcard_constraints:
            campaign=PLAN.live_pattern,
        log:
            f"workflow/build/logs/{{campaign}}/keep_{stage.name}.log",
        resources:
            mem_mb=1000,
            runtime=5,
        shell:
            "{PYTHON:q} -m workflow.keep {input:q} --into workflow/campaigns/{wildcards.campaign} 2>&1 | tee {log:q}"
