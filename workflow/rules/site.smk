# The page: every output file is listed, so that a deleted one is built again and nothing that no build wrote in site/ is touched; marked
# `update`, so that a build which finds a problem leaves the published page where it is.
# `site` writes them itself: a rule that only asks for them is one job more, behind which Snakemake waits a second before it ends. Only where
# published rows are missing such a rule asks for these as well, so that they are measured again rather than overlooked behind a finished page.

# What `--config` changed counts, not what the file says.
PAGE_FLAGS = [f"--campaign={name}" for name in PLAN.names] + [f"--lead={PLAN.lead}", f"--site-url={config.get('site_url', '')}"]
if PLAN.preset:
    PAGE_FLAGS.append(f"--preset={PLAN.preset}")


LACKING = [file for name in PLAN.live for file in PLAN.kept(name) if not Path(file).exists()]
if LACKING:

    rule site:
        localrule: True
        input:
            LACKING,
            site_files(PLAN),


# Snakemake takes the checksum of every input once for each output, and the page has many of both: small files of checksums stand for what it reads beside
# the facts and the drawings. Where jobs find nothing but what their rule declares (in a store), they would not do.
STORED = workflow.storage_settings.default_storage_provider is not None
TEXTS = [
    *code_of("workflow.at", "workflow.page"),
    *sources("templates/**/*", *(f"workflow/schemas/{name}.schema.json" for name in ("claims", "config", "values"))),
]


DERIVED = expand("workflow/build/{campaign}/{file}", campaign=PLAN.names, file=["values.json", "claims.json"])
ROWS = expand("workflow/build/{campaign}/rows.sha256", campaign=PLAN.names)
DRAWN = expand("workflow/build/{campaign}/figures/index.json", campaign=PLAN.names)


onerror:
    # a page that was refused is put back with the time of now, as if it showed what is there: what it should show becomes newer than it
    for built in [*DERIVED, *ROWS, *DRAWN, "workflow/build/texts.sha256"]:
        if Path(built).exists():
            Path(built).touch()


rule texts:
    localrule: True
    input:
        TEXTS,
    output:
        "workflow/build/texts.sha256",
    log:
        "workflow/build/logs/texts.log",
    resources:
        mem_mb=500,
        runtime=5,
    shell:
        "{PYTHON:q} -S -m workflow.digests {output:q} {input:q} 2>&1 | tee {log:q}"


rule:
    name:
        "page" if LACKING else "site"
    localrule: True
    input:
        values=DERIVED,
        figures=DRAWN,
        rows=[PLAN.kept(name) for name in PLAN.names] if STORED else ROWS,
        texts=TEXTS if STORED else "workflow/build/texts.sha256",
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
