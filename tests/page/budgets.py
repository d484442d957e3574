"""What a page of the site may weigh, stated once; bytes, KB as 1,000 of them."""

HTML = 480_000
"""One report in one language, drawings included."""
FIRST_VIEW = 110_000
"""Gzipped: that report, the style sheet and the script."""
ELEMENTS = 6_000
"""Of one report in the browser, after its script has run."""
SHIFT = 0.02
"""Cumulative layout shift."""
SCRIPT, STYLE, SEARCH = 8_192, 18 * 1_024, 1_024
"""As served, KB as 1,024 bytes: page.js, page.css, and the search of the index of numbers (ledger.js)."""
SCRIPT_GZIPPED, STYLE_GZIPPED = 3_584, 5_120
PARALLEL, PARALLEL_GZIPPED = 900_000, 170_000
"""Both languages side by side."""
REQUESTS = 4
"""Of a first view."""
