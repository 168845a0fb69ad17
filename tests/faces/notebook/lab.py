"""A real JupyterLab and a real browser, for tests that need both.

The server stands on a free port of this machine and in folders of its own, so that it neither sees
nor changes what else is there. The kernel is the Python that runs the test, or the one that
SCALARVIZ_KERNEL_PYTHON names.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

KERNEL = "SCALARVIZ_KERNEL_PYTHON"
PATIENCE = 60.0  # seconds; a busy machine may take them, an answer that never comes is an error
VIEWPORT = {"width": 1400, "height": 1000}
CHROMIUM = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()

# It asks for no news, and writes no file by itself while a test reads it.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


def chromium() -> str | None:
    """Where the browser is; None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def lack() -> str:
    """What is missing for it; nothing if all is there."""
    if chromium() is None:
        return "there is no chromium: apt-get install chromium"
    missing = [
        name for name in ("playwright", "jupyterlab", "ipykernel") if find_spec(name) is None
    ]
    return f"there is no {missing[0]}: pip install 'scalarviz[browser,dev]'" if missing else ""


def until(true: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Ask again and again until something is the case; what it was then."""
    ends = time.monotonic() + seconds
    while not (found := true()):
        if time.monotonic() > ends:
            raise AssertionError(f"in {seconds:g} seconds it never came to this: {what}")
        time.sleep(0.05)
    return found


# The server.


@dataclass(frozen=True)
class Server:
    """A JupyterLab: its address, its token, the folder of its notebooks, and what it wrote."""

    url: str
    token: str
    notebooks: Path
    log: Path

    def page(self, name: str) -> str:
        return f"{self.url}lab/tree/{name}?token={self.token}&reset"


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A JupyterLab that shows `folder`/notebooks while the block runs."""
    notebooks, log = folder / "notebooks", folder / "server.log"
    notebooks.mkdir(exist_ok=True)
    token = secrets.token_hex(16)
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options_of(notebooks)],
            env=surroundings(folder, token),
            cwd=notebooks,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Server(address(process, folder, token, log), token, notebooks, log)
        finally:
            process.terminate()  # it ends its kernels then
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def options_of(notebooks: Path) -> list[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [
        "--allow-root",
        "--no-browser",
        "--expose-app-in-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        f"--ServerApp.root_dir={notebooks}",
        "--ServerApp.terminals_enabled=False",
        "--LabApp.extension_manager=readonly",
    ]


def surroundings(folder: Path, token: str) -> dict[str, str]:
    """The environment of a server that is alone in the world, with the kernel to be tested."""
    settings = folder / "settings"
    for name, chosen in SETTINGS.items():
        file = settings / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(chosen), encoding="utf-8")
    python = os.environ.get(KERNEL, sys.executable)
    kernel = folder / "share" / "kernels" / "python3"
    kernel.mkdir(parents=True, exist_ok=True)
    command = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": command, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(about), encoding="utf-8")
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTER_PATH": "share",  # it comes before the environment's own kernels
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    kept = {name: each for name, each in os.environ.items() if not name.startswith("JUPYTER")}
    return (
        kept | {name: str(folder / each) for name, each in own.items()} | {"JUPYTER_TOKEN": token}
    )


def address(process: subprocess.Popen[bytes], folder: Path, token: str, log: Path) -> str:
    """Where a server that has just been started answers; it says so in a file."""

    def answer() -> str | None:
        if process.poll() is not None:
            raise AssertionError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")
        for file in (folder / "runtime").glob("jpserver-*.json"):
            try:
                url: str = json.loads(file.read_text(encoding="utf-8"))["url"]
                with urllib.request.urlopen(f"{url}api/status?token={token}", timeout=5):
                    return url
            except (ValueError, urllib.error.URLError, TimeoutError):
                return None  # it is still writing the file, or does not listen yet
        return None

    return str(until(answer, "JupyterLab answers"))


# The browser.


@contextmanager
def browsing() -> Iterator[Any]:
    """A chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        try:
            yield browser
        finally:
            browser.close()


CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === 'code')
  .map(cell => [cell.model.sharedModel.execution_count, cell.model.executionState ?? 'idle'])"""
READY = """() => {
  const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle'
}"""
UP = "element => element.scrollIntoView({ block: 'start' })"
COUNT = """image => {
  window.frames_of_it = []
  window.observer_of_it = new MutationObserver(() => window.frames_of_it.push(performance.now()))
  window.observer_of_it.observe(image, { attributes: true, attributeFilter: ['src'] })
}"""
COUNTED = "() => { window.observer_of_it.disconnect(); return window.frames_of_it }"
# When a button is pressed, when the label says something else, when there is another picture.
ANSWER = """([button, label, image]) => new Promise(resolve => {
  let pressed, said, drawn
  const look = () => {
    if (pressed && said && drawn) {
      labels.disconnect()
      images.disconnect()
      resolve([said - pressed, drawn - pressed])
    }
  }
  const now = () => performance.now()
  button.addEventListener('click', () => { pressed = now() }, { capture: true, once: true })
  const labels = new MutationObserver(() => { if (pressed) said ??= now(); look() })
  labels.observe(label, { childList: true, characterData: true, subtree: true })
  const images = new MutationObserver(() => { if (pressed) drawn ??= now(); look() })
  images.observe(image, { attributes: true, attributeFilter: ['src'] })
  setTimeout(() => button.click(), 50)
})"""


@dataclass
class Page:
    """A notebook as a tab of the browser shows it."""

    tab: Any
    complaints: list[str] = field(default_factory=list)  # the console's, in red

    @classmethod
    def open(cls, browser: Any, server: Server, name: str) -> Page:
        """Wait until the notebook is there and its kernel too."""
        made = cls(browser.new_page(viewport=VIEWPORT))
        made.tab.set_default_timeout(1e3 * PATIENCE)
        made.tab.on("console", made._hear)
        made.tab.on("pageerror", lambda error: made.complaints.append(f"{error}\n{error.stack}"))
        made.tab.goto(server.page(name))
        made.tab.wait_for_selector(".jp-Notebook .jp-Cell")
        made.tab.wait_for_function(READY)
        return made

    def _hear(self, said: Any) -> None:
        if said.type == "error":
            self.complaints.append(f"{said.text} {said.location}")

    def heard(self) -> list[str]:
        """What was complained of since this was asked last."""
        heard, self.complaints = self.complaints, []
        return heard

    def cell(self, index: int) -> Any:
        return self.tab.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')

    def run_all(self) -> None:
        """All cells, from the menu, and wait for the last of them."""
        self.tab.locator(".lm-MenuBar-item", has_text="Run").click()
        self.tab.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
        until(self.has_run, "all cells have run")

    def has_run(self) -> bool:
        return all(count and state == "idle" for count, state in self.tab.evaluate(CELLS))

    def run(self, index: int, code: str) -> str:
        """Write into a cell and run it: what is below it then."""
        cell = self.cell(index)
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.tab.keyboard.press("Control+a")
        self.tab.keyboard.insert_text(code)
        self.tab.keyboard.press("Control+Enter")

        def done() -> bool:
            now = prompt.inner_text()
            return now != before and re.fullmatch(r"\[\d+\]:", now) is not None

        until(done, f"{code!r} has run")
        return str(cell.locator(".jp-OutputArea-output").last.inner_text()).strip()

    def stored(self, file: Path) -> dict[str, Any]:
        """The notebook as it is saved now."""
        before = file.stat().st_mtime_ns
        self.tab.keyboard.press("Control+s")

        def saved() -> dict[str, Any] | None:
            if file.stat().st_mtime_ns == before:
                return None
            try:
                return dict(json.loads(file.read_text(encoding="utf-8")))
            except ValueError:
                return None  # it is still being written

        return dict(until(saved, "the notebook is saved"))


@dataclass
class LivePicture:
    """A live picture below a cell, and a cell after it to ask the kernel in."""

    page: Page
    index: int  # of its cell

    @property
    def cell(self) -> Any:
        return self.page.cell(self.index)

    @property
    def wrapper(self) -> Any:
        return self.cell.locator(".renderview-wrapper")

    @property
    def image(self) -> Any:
        return self.wrapper.locator("img")

    @property
    def label(self) -> Any:
        """It says where the training is."""
        return self.cell.locator(".widget-inline-hbox.widget-label").first

    @property
    def step(self) -> int:
        return int(self.label.inner_text().split()[0].replace(",", ""))

    def button(self, name: str) -> Any:
        return self.cell.locator(f'button[title="{name}"]')

    def open_more(self) -> None:
        """Open the panel of further controls."""
        button = self.cell.locator('button[title^="More: "]')
        if "mod-active" not in button.get_attribute("class"):
            button.click()

    def control(self, name: str) -> Any:
        """A slider or a field, by how its tooltip begins."""
        return self.cell.locator(f'.widget-inline-hbox:has(> label[title^="{name}"])')

    def slider(self, name: str) -> Any:
        """A slider in the panel of further controls, by its tooltip."""
        self.open_more()
        found = self.cell.locator(f'.widget-inline-hbox:has(> label[title="{name}"])')
        found.locator("input, .noUi-handle").first.wait_for()
        return found

    def field(self, name: str) -> Any:
        return self.control(name).locator("input")

    def ask(self, code: str) -> str:
        return self.page.run(self.index + 1, code)

    def show(self) -> LivePicture:
        """Scroll to it."""

        def there() -> bool:
            self.wrapper.evaluate(UP)
            self.page.tab.wait_for_timeout(100)  # cells above may turn out taller than they seemed
            box = self.image.bounding_box()
            return 0.0 < box["y"] < 200.0

        until(there, "the picture is scrolled into view")
        return self

    def play(self) -> None:
        self.button("Play").click()
        self.button("Pause").wait_for()

    def pause(self) -> None:
        """Stand still, whatever was before."""
        if self.button("Pause").count():
            self.button("Pause").click()
        self.button("Play").wait_for()

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a place of the picture is on the page."""
        box = self.image.bounding_box()
        return box["x"] + x, box["y"] + y

    def point(self, x: float, y: float) -> None:
        self.page.tab.mouse.move(*self.at(x, y))

    def click(self, x: float, y: float) -> None:
        self.page.tab.mouse.click(*self.at(x, y))

    def drag(self, seconds: float) -> None:
        """Turn it to and fro for so long, as a hand does."""
        mouse, (x, y) = self.page.tab.mouse, self.at(200.0, 320.0)
        mouse.move(x, y)
        mouse.down()
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            mouse.move(x + 150.0 * math.sin(2.0 * now), y + 40.0 * math.sin(1.3 * now))
            time.sleep(0.012)
        mouse.up()

    def has_ring(self) -> bool:
        return "scalarviz-keys" in self.wrapper.get_attribute("class")

    def shot(self, file: Path | None = None) -> bytes:
        """What is seen of it now, as a PNG."""
        shot: bytes = self.image.screenshot(path=file)
        return shot

    def still(self, seconds: float = 0.6) -> bytes:
        """What is seen of it once it stands still, which it must come to."""
        seen = [self.shot()]

        def same() -> bool:
            self.page.tab.wait_for_timeout(1e3 * seconds)
            seen.append(self.shot())
            return seen[-1] == seen[-2]

        until(same, "the picture stands still", 20.0)
        return seen[-1]

    def frames(self, act: Callable[[], object]) -> float:
        """Pictures a second that arrive while something is done."""
        self.image.evaluate(COUNT)
        began = time.monotonic()
        act()
        seconds = time.monotonic() - began
        return len(self.page.tab.evaluate(COUNTED)) / seconds

    def answer(self, name: str) -> tuple[float, float]:
        """Seconds from a click on a button to what the label says of it, and to the picture."""
        parts = [each.element_handle() for each in (self.button(name), self.label, self.image)]
        said, drawn = self.page.tab.evaluate(ANSWER, parts)
        return said / 1e3, drawn / 1e3


# The lesson that has live pictures.

LESSON = Path(__file__).parents[3] / "notebooks" / "04-layers.ipynb"
LIVE = "sv.watch("
VISPY = r"\1, nodes=lambda view: None"  # the pictures of vispy, not the page


def prepared(target: Path) -> list[int]:
    """Copy the lesson, with nothing run yet and a cell to ask in after each live picture.

    The indices of the cells with live pictures.
    """
    notebook = json.loads(LESSON.read_text(encoding="utf-8"))
    cells: list[dict[str, Any]] = []
    live: list[int] = []
    for cell in notebook["cells"]:
        cells.append(cell)
        if cell["cell_type"] != "code":
            continue
        cell |= {"outputs": [], "execution_count": None}
        if LIVE in "".join(cell["source"]):
            live.append(len(cells) - 1)
            cell["source"] = re.sub(r"(sv\.watch\(\w+)", VISPY, "".join(cell["source"]))
            cells.append(cell | {"id": f"ask{len(live)}", "source": "'nothing asked yet'"})
    target.write_text(json.dumps(notebook | {"cells": cells}), encoding="utf-8")
    return live
