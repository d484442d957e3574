"""What a slow phone sees of a report: the site served gzipped over slow 4G to a browser with a quarter of this processor. Times are printed, not judged."""

from __future__ import annotations

import functools
import gzip
import http.server
import threading
from pathlib import Path

import pytest

from tests.page import budgets

pytestmark = pytest.mark.browser
SLOW_4G = {"offline": False, "latency": 150, "downloadThroughput": 1_600_000 / 8, "uploadThroughput": 750_000 / 8}
"""As Lighthouse has it: ms a round trip, bytes a second."""
SLOWER = 4
"""Times that the processor is slowed."""
SEEN = """() => new Promise((done) => {
  let largest = 0, blocked = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) largest = Math.max(largest, entry.startTime) }).observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) blocked += Math.max(0, entry.duration - 50) }).observe({ type: "longtask", buffered: true });
  setTimeout(() => done([largest, blocked, performance.getEntriesByType("resource").length]), 500);
})"""
REPORTS = ("index.html", "zh/index.html")


class Gzipped(http.server.SimpleHTTPRequestHandler):
    """Files of one folder, packed as any web server packs them."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body = gzip.compress(path.read_bytes())
        self.send_response(200)
        for name, value in (("Content-Type", self.guess_type(str(path))), ("Content-Encoding", "gzip"), ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args) -> None:
        pass


@pytest.fixture(scope="module")
def address(archived):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Gzipped, directory=str(archived))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("path", REPORTS)
def test_what_a_slow_phone_sees(browser, address, path, capsys):
    page = browser.new_context(viewport={"width": 412, "height": 823}).new_page()
    slow = page.context.new_cdp_session(page)
    slow.send("Network.enable")
    slow.send("Network.emulateNetworkConditions", SLOW_4G)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(f"{address}/{path}", wait_until="load")
    largest, blocked, fetched = page.evaluate(SEEN)
    with capsys.disabled():
        print(f"\n{path} on a slow phone: largest paint {largest:.0f} ms, blocked {blocked:.0f} ms, {fetched + 1} requests")
    assert largest > 0 and fetched + 1 <= budgets.REQUESTS
    page.context.close()


def test_the_parallel_page_keeps_its_budget(archived):
    body = (archived / "parallel/index.html").read_bytes()
    assert len(body) <= budgets.PARALLEL and len(gzip.compress(body, 9)) <= budgets.PARALLEL_GZIPPED
