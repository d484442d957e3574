# Facts -> plates, drawn once with keyed labels; the page fills in both languages.


rule figures:
    localrule: True
    input:
        values="workflow/build/{campaign}/values.json",
        code=code_of("workflow.at", "workflow.figures", "workflow.figures.plates.*"),
    output:
        "workflow/build/{campaign}/figures/index.json",
    log:
        "workflow/build/logs/{campaign}/figures.log",
    resources:
        mem_mb=2000,
        runtime=10,
    shell:
        "{PYTHON:q} -m workflow.at {log:q} workflow.figures --values workflow/build/{wildcards.campaign}/values.json"
        " --out workflow/build/{wildcards.campaign}/figures 2>&1 | tee {log:q}"
