"""A browser for tests: headless Chromium, spoken to as its developer tools do.

What a page shows is asked of the page itself: its text, what Bokeh draws on it, a picture of it.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.waiting import wait_until

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless=new",
    "--no-sandbox",  # of root, as in a container; it opens pages of this machine alone
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-port=0",
    "--window-size=1500,1000",
]
SHOWN_S = 30.0  # in which a page shows what it has to
TEXT = """
(() => {
  const found = [];
  const walk = node => {
    if (node.nodeType === 3) found.push(node.data);
    if (node.shadowRoot) walk(node.shadowRoot);
    if (node.contentDocument && node.contentDocument.body) walk(node.contentDocument.body);
    if (!['SCRIPT', 'STYLE', 'TEMPLATE'].includes(node.nodeName)) node.childNodes.forEach(walk);
  };
  if (document.body) walk(document.body);
  const drawn = window.Bokeh ? Bokeh.documents.map(shown => JSON.stringify(shown.to_json())) : [];
  return found.concat(drawn).join(' ');
})()
"""
"""All text of a page, also of its components and frames, and the data of what Bokeh draws on it."""


class Page:
    """One page of a browser.

    Attributes:
      failures: what its scripts have thrown, and answers that are no success, as text.
    """

    def __init__(self, loop: IOLoop, socket: WebSocketClientConnection) -> None:
        self.loop, self.socket, self.numbers = loop, socket, itertools.count(1)
        self.failures: list[str] = []
        self.statuses: dict[str, int] = {}
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Have the browser do something, and return what it answers."""
        return self.loop.run_sync(lambda: self._call(method, arguments), timeout=60)

    async def _call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        number = next(self.numbers)
        await self.socket.write_message(
            json.dumps({"id": number, "method": method, "params": arguments})
        )
        while True:
            message = await self.socket.read_message()
            assert isinstance(message, str), "the browser has ended"
            told = json.loads(message)
            if told.get("id") == number:
                assert "error" not in told, f"{method}: {told.get('error')}"
                return told["result"]
            self._note(told["method"], told["params"])

    def _note(self, event: str, told: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.failures.append(json.dumps(told["exceptionDetails"])[:2_000])
        elif event == "Network.responseReceived":
            url, status = told["response"]["url"], told["response"]["status"]
            self.statuses[url] = status
            if status >= 400:
                self.failures.append(f"{status} {url}")

    def open(self, url: str) -> int:
        """Go to a page, and return the status with which it was answered."""
        self.failures.clear()
        self.statuses.clear()
        self.call("Page.navigate", url="about:blank")  # a URL that differs by its end alone is new
        self.call("Page.navigate", url=url)
        page = url.partition("#")[0]
        return wait_until(lambda: self.evaluate("1") and self.statuses.get(page), url, 60)

    def evaluate(self, expression: str) -> Any:
        """Return what an expression of JavaScript gives there."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def text(self) -> str:
        """Return all that it says and draws."""
        return self.evaluate(TEXT)

    def shows(self, *texts: str) -> None:
        """Wait until it has all of some texts."""

        def missing() -> list[str]:
            found = self.text()
            return [text for text in texts if text not in found]

        wait_until(lambda: not missing(), lambda: f"it shows {missing()}", SHOWN_S, pause_s=0.25)


@contextmanager
def browsing(profile: Path) -> Iterator[Page]:
    """Give a page of a browser that ends with the block.

    Args:
      profile: a directory that it may fill.
    """
    assert PROGRAM is not None
    command = [PROGRAM, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    loop = IOLoop(make_current=False)
    socket = None
    try:
        told = profile / "DevToolsActivePort"
        port = wait_until(lambda: told.exists() and told.read_text().split()[:1], "Chromium", 60)[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
            targets = json.load(answer)
        address = next(t["webSocketDebuggerUrl"] for t in targets if t["type"] == "page")
        socket = loop.run_sync(lambda: websocket_connect(address, max_message_size=1 << 28))
        yield Page(loop, socket)
    finally:
        if socket is not None:
            socket.close()
        process.terminate()
        process.wait(30)
        loop.close()
