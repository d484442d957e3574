# CSVs -> facts and claims. Cheap rules declare their Python files as inputs: a module that is edited re-renders the page.


rule derive:
    input:
        measured=lambda wildcards: PLAN.kept(wildcards.campaign),
        definition="workflow/campaigns/{campaign}/campaign.yaml",
        code=sources("workflow/derive/**/*.py", "workflow/derive/*.yaml", "workflow/schemas/*.json"),
    output:
        "workflow/build/{campaign}/values.json",
        "workflow/build/{campaign}/claims.json",
    log:
        "workflow/build/logs/{campaign}/derive.log",
    resources:
        mem_mb=2000,
        runtime=10,
    shell:
        "{PYTHON:q} -m workflow.derive --campaign workflow/campaigns/{wildcards.campaign}"
        " --out workflow/build/{wildcards.campaign} 2>&1 | tee {log:q}"
