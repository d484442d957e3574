# Measuring rules have no inputs, so that no checkout's file times can fire them, and only live campaigns match them.
# `keep` moves what was measured into the campaign folder, the only place that is read downstream. Snakemake deletes a rule's
# outputs before it runs unless they are marked `update`: a measurement that dies or is invalid leaves the published row in place.


rule measure:
    localrule: True
    input:
        [PLAN.kept(name) for name in PLAN.live],


# With `parts` above one, several jobs measure a sweep (`sweep_isl`, some of its blocks each), and one that measures nothing gathers them.

for stage in STAGES:
    IN_PARTS = PLAN.parts > 1 and stage.has_parts

    if IN_PARTS:

        rule:
            name:
                stage.rule
            output:
                f"workflow/build/parts/{{campaign}}/{stage.name}.{{part}}-of-{{of}}.part.jsonl",
            wildcard_constraints:
                campaign=PLAN.live_pattern,
                part=r"\d+",
                of=r"\d+",
            log:
                f"workflow/build/logs/{{campaign}}/{stage.rule}.{{part}}-of-{{of}}.log",
            priority: len(STAGES) - STAGES.index(stage)
            threads: ALONE
            resources:
                bench=1,
                mem_mb=6000,
                runtime=60,
                **GPU,
            shell:
                MEASURE_PART

    rule:
        name:
            stage.gather if IN_PARTS else stage.rule
        input:
            parts_of(stage),
        output:
            expand("workflow/build/measured/{{campaign}}/{file}", file=stage.files),
        wildcard_constraints:
            campaign=PLAN.live_pattern,
        log:
            f"workflow/build/logs/{{campaign}}/{stage.gather if IN_PARTS else stage.rule}.log",
        # In the order of STAGES: the search is first, since its A/A pairs say what the others can resolve and its winner is gated.
        # A priority, no input: a measurement may not fire because another was repeated.
        priority: len(STAGES) - STAGES.index(stage)
        threads: 1 if IN_PARTS else ALONE
        resources:
            bench=0 if IN_PARTS else 1,
            mem_mb=6000,
            runtime=60,
            **({} if IN_PARTS else GPU),
        shell:
            MEASURE

    rule:
        name:
            f"keep_{stage.name}"
        localrule: True
        input:
            expand("workflow/build/measured/{{campaign}}/{file}", file=stage.files),
        output:
            update(expand("workflow/campaigns/{{campaign}}/{file}", file=stage.files)),
        wildcard_constraints:
            campaign=PLAN.live_pattern,
        params:
            files=lambda wildcards, stage=stage: [f"workflow/build/measured/{wildcards.campaign}/{file}" for file in stage.files],
        log:
            f"workflow/build/logs/{{campaign}}/keep_{stage.name}.log",
        resources:
            mem_mb=1000,
            runtime=5,
        shell:
            "{PYTHON:q} -m workflow.at {log:q} workflow.keep {params.files:q} --into workflow/campaigns/{wildcards.campaign} 2>&1 | tee {log:q}"
