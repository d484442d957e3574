# Facts -> plates, drawn once with keyed labels; the page fills in both languages.


rule figures:
    input:
        values="workflow/build/{campaign}/values.json",
        code=sources("workflow/figures/**/*.py"),
    output:
        "workflow/build/{campaign}/figures/index.json",
    log:
        "workflow/build/logs/{campaign}/figures.log",
    resources:
        mem_mb=2000,
        runtime=10,
    shell:
        "{PYTHON:q} -m workflow.figures --values {input.values:q}"
        " --out workflow/build/{wildcards.campaign}/figures 2>&1 | tee {log:q}"
