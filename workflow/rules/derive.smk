# CSVs -> facts and claims. Cheap rules declare the Python files that they load as inputs: a module that is edited re-renders the page.
# No more than those: Snakemake takes the checksum of every input once for each output.


# What the engine's code is today, as data: a live campaign whose rows came from other code says so on its page.
rule fingerprint:
    localrule: True
    input:
        sources("engine/**/*.py", "engine/**/*.cpp", "engine/**/*.h", "kernels/**/*.py"),
    output:
        "workflow/build/code.json",
    log:
        "workflow/build/logs/fingerprint.log",
    resources:
        mem_mb=500,
        runtime=5,
    shell:
        "{PYTHON:q} -m workflow.at {log:q} engine.fingerprint --out workflow/build/code.json 2>&1 | tee {log:q}"


rule derive:
    localrule: True
    input:
        measured=lambda wildcards: PLAN.kept(wildcards.campaign),
        proof=lambda wildcards: PLAN.proof(wildcards.campaign),
        definition="workflow/campaigns/{campaign}/campaign.yaml",
        engine=lambda wildcards: ["workflow/build/code.json"] if wildcards.campaign in PLAN.live else [],
        code=code_of("workflow.at", "workflow.derive", "workflow.derive.facts.*", "workflow.derive.claims.*"),
        tables=sources("workflow/derive/*.yaml", "workflow/schemas/*.json"),
    output:
        "workflow/build/{campaign}/values.json",
        "workflow/build/{campaign}/claims.json",
        rows="workflow/build/{campaign}/rows.sha256",
    log:
        "workflow/build/logs/{campaign}/derive.log",
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=lambda wildcards: ["--code=workflow/build/code.json"] if wildcards.campaign in PLAN.live else [],
    shell:
        "({PYTHON:q} -m workflow.at {log:q} workflow.derive --campaign workflow/campaigns/{wildcards.campaign} {params.code:q}"
        " --out workflow/build/{wildcards.campaign} && {PYTHON:q} -S -m workflow.digests {output.rows:q} {input.measured:q}) 2>&1 | tee {log:q}"
