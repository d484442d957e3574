# `check` runs every check on what was built; `publish` runs it, packs the site and pushes it where a remote is configured:
#   snakemake --cores 1 publish --config publish_remote=git@host:you/repository.git


rule check:
    localrule: True
    input:
        site_files(PLAN),
    log:
        "workflow/build/logs/check.log",
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        plan=PAGE_FLAGS,
    shell:
        "{PYTHON:q} -m workflow.check --build workflow/build --site site {params.plan:q} 2>&1 | tee {log:q}"


rule publish:
    localrule: True
    input:
        site_files(PLAN),
    output:
        expand("dist/{file}", file=["soundings-site.tar.gz", "ro-crate-metadata.json", "SHA256SUMS"]),
    params:
        plan=PAGE_FLAGS,
        remote=config.get("publish_remote", ""),
        branch=config.get("publish_branch", "gh-pages"),
    log:
        "workflow/build/logs/publish.log",
    resources:
        mem_mb=1000,
        runtime=30,
    shell:
        "({PYTHON:q} -m workflow.check --build workflow/build --site site {params.plan:q} &&"
        " {PYTHON:q} -m workflow.publish --site site --out dist --remote={params.remote:q} --branch={params.branch:q}) 2>&1 | tee {log:q}"
