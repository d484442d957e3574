# The page: every output file is listed, so that a deleted one is built again and nothing that no build wrote in site/ is touched; marked
# `update`, so that a build which finds a problem leaves the published page where it is.
# `site` asks for the published rows as well, so that a missing one is measured again rather than overlooked.

# What `--config` changed counts, not what the file says.
PAGE_FLAGS = [f"--campaign={name}" for name in PLAN.names] + [f"--lead={PLAN.lead}", f"--site-url={config.get('site_url', '')}"]
if PLAN.preset:
    PAGE_FLAGS.append(f"--preset={PLAN.preset}")


rule site:
    localrule: True
    input:
        [PLAN.kept(name) for name in PLAN.names],
        site_files(PLAN),


rule page:
    localrule: True
    input:
        values=expand("workflow/build/{campaign}/{file}", campaign=PLAN.names, file=["values.json", "claims.json"]),
        figures=expand("workflow/build/{campaign}/figures/index.json", campaign=PLAN.names),
        measured=[PLAN.kept(name) for name in PLAN.names],
        code=sources("workflow/page/**/*.py", "workflow/figures/**/*.py", "workflow/derive/**/*.py", "workflow/schemas/*.json", "templates/**/*", *SHARED),
        campaigns=[f"workflow/campaigns/{name}/campaign.yaml" for name in PLAN.names],
        config="workflow/config.yaml",
    params:
        plan=PAGE_FLAGS,
    output:
        update(site_files(PLAN)),
    log:
        "workflow/build/logs/site.log",
    resources:
        mem_mb=2000,
        runtime=10,
    shell:
        "{PYTHON:q} -m workflow.at {log:q} workflow.page --build workflow/build --site site --prune {params.plan:q} 2>&1 | tee {log:q}"
