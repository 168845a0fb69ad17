"""A real JupyterLab and a real browser, for tests that need both.

The server stands on a free port of this machine and in folders of its own, so that it neither sees
nor changes what else is there. The kernel is the Python that runs the test, or the one that
SCALARVIZ_KERNEL_PYTHON names, which has a scalarviz of its own.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
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

from tests.faces.browser.framed import SeenPage
from tests.machine import ROOT
from tests.pages.software import CHROMIUM, launched

KERNEL = "SCALARVIZ_KERNEL_PYTHON"
PATIENCE = 60.0  # seconds; a busy machine may take them, an answer that never comes is an error
VIEWPORT = {"width": 1400, "height": 1000}
# It asks for no news, and writes no file by itself while a test reads it.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


def lack() -> str:
    """What is missing for it; nothing if all is there."""
    if not CHROMIUM.exists():
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
    if KERNEL not in kept:
        kept["PYTHONPATH"] = str(ROOT)
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
def chromium() -> Iterator[Any]:
    """A chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player, launched(player) as browser:
        yield browser


BOOK = "window.jupyterapp.shell.currentWidget.content"
CELLS = f"""() => {BOOK}.widgets
  .filter(cell => cell.model.type === 'code')
  .map(cell => [cell.model.sharedModel.execution_count, cell.model.executionState ?? 'idle'])"""
READY = """() => {
  const kernel = window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle'
}"""
UP = "element => element.scrollIntoView({ block: 'start' })"
COMMAND = "([name, args]) => window.jupyterapp.commands.execute(name, args)"
FRAME = ".scalarviz-page iframe"
COUNT = """app => {
  const draw = app.draw.bind(app)
  globalThis.pictures = 0
  app.draw = () => { globalThis.pictures += 1; draw() }
}"""
# When a button is pressed, when its state is there, and when that is drawn.
ANSWER = """button => new Promise(resolve => {
  const app = globalThis.scalarviz
  const [take, draw] = [app.take.bind(app), app.draw.bind(app)]
  const { step } = app.state
  let pressed, taken
  app.take = state => {
    take(state)
    if (app.state.step !== step) taken ??= performance.now()
  }
  app.draw = () => {
    draw()
    if (!taken) return
    Object.assign(app, { take, draw })
    resolve([taken - pressed, performance.now() - pressed])
  }
  setTimeout(() => { pressed = performance.now(); button.click() }, 50)
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

    def command(self, name: str, **args: object) -> None:
        """Run a command of JupyterLab, as its menus do."""
        self.tab.evaluate(COMMAND, [name, args])

    def run_all(self) -> None:
        """All cells, from the menu, and wait for the last of them."""
        self.tab.locator(".lm-MenuBar-item", has_text="Run").click()
        self.tab.locator('.lm-Menu-item[data-command="runmenu:run-all"]').click()
        until(self.has_run, "all cells have run")

    def answer_all(self) -> None:
        """Give up on every question, so that all cells are seen."""
        while (form := self.tab.locator(".scalarviz-open")).count():
            field = form.first.get_by_placeholder("your answer")
            if field.count():
                field.fill("1")
                field.press("Enter")
            else:
                form.first.locator(".widget-toggle-button").first.click()
            self.tab.wait_for_timeout(200)
            shows = form.first.get_by_text("Show me")
            if shows.count() and shows.is_visible():
                shows.click()
                self.tab.wait_for_timeout(200)

    def restart(self) -> None:
        """Start the kernel anew."""
        self.tab.evaluate(
            f"{BOOK.removesuffix('.content')}.sessionContext.session.kernel.restart()"
        )
        self.tab.wait_for_function(READY)

    def activate(self, index: int) -> None:
        """Make a cell the current one."""
        self.tab.evaluate(f"{BOOK}.activeCellIndex = {index}")

    def scroll_to(self, index: int) -> None:
        self.tab.evaluate(f"{BOOK}.scrollToItem({index}).then(() => null)")

    def has_run(self) -> bool:
        return all(count and state == "idle" for count, state in self.tab.evaluate(CELLS))

    def start(self, index: int, code: str) -> None:
        """Write into a cell and have it run."""
        self.cell(index).locator(".cm-content").click()
        self.tab.keyboard.press("Control+a")
        self.tab.keyboard.insert_text(code)
        self.tab.keyboard.press("Control+Enter")

    def run(self, index: int, code: str) -> str:
        """Write into a cell and run it: the last of what is below it then."""
        cell = self.cell(index)
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        self.start(index, code)

        def done() -> bool:
            now = prompt.inner_text()
            return now != before and re.fullmatch(r"\[\d+\]:", now) is not None

        until(done, f"{code!r} has run")
        outputs = cell.locator(".jp-OutputArea-output")
        return str(outputs.last.inner_text()).strip() if outputs.count() else ""

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
class LivePage(SeenPage):
    """The page of a session below a cell, and a cell after it to ask the kernel in.

    Attributes:
        number: of the page among those of its cell
    """

    notebook: Page
    index: int  # of its cell
    number: int = 0

    @property
    def cell(self) -> Any:
        return self.notebook.cell(self.index)

    @property
    def element(self) -> Any:
        """The frame, in the notebook."""
        return self.cell.locator(FRAME).nth(self.number)

    @property
    def frame(self) -> Any:
        return self.element.element_handle().content_frame()

    @property
    def mouse(self) -> Any:
        return self.notebook.tab.mouse

    def wait(self, true: Callable[[], Any]) -> Any:
        return until(true, "what the page is to show")

    def rest(self, seconds: float = 0.3) -> None:
        self.notebook.tab.wait_for_timeout(1e3 * seconds)

    def ask(self, code: str) -> str:
        return self.notebook.run(self.index + 1, code)

    def show(self) -> LivePage:
        """Scroll to it, and wait until it is drawn and has its session's state."""

        def there() -> bool:
            self.element.evaluate(UP)
            self.rest(0.1)  # cells above may turn out taller than they seemed
            return bool(0.0 < self.element.bounding_box()["y"] < 200.0)

        until(there, "the page is scrolled into view")
        self.wait(lambda: self.is_drawn and self.step >= 0)
        return self

    def press(self, button: str) -> None:
        """Press a button, by its id."""
        self.frame.click(f"#{button}")

    def pause(self) -> None:
        """Stand still, whatever was before."""
        self.wait(lambda: self.app("state.playing") == self.app("player.playing"))
        if self.app("state.playing"):
            self.press("play")
            self.wait(lambda: not self.app("state.playing"))

    def frames(self, act: Callable[[], object]) -> float:
        """Pictures a second that it draws while something is done."""
        self.frame.evaluate(f"({COUNT})(scalarviz)")
        began = time.monotonic()
        act()
        seconds = time.monotonic() - began
        return float(self.frame.evaluate("pictures")) / seconds

    def answer(self, button: str) -> tuple[float, float]:
        """Seconds from a click on a button to its state, and until that is drawn."""
        taken, drawn = self.frame.locator(f"#{button}").evaluate(ANSWER)
        return taken / 1e3, drawn / 1e3

    def swing(self, seconds: float) -> None:
        """Turn it to and fro for so long, as a hand does."""
        x, y = self.at(200.0, 60.0)
        self.mouse.move(x, y)
        self.mouse.down()
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            self.mouse.move(x + 150.0 * math.sin(2.0 * now), y + 40.0 * math.sin(1.3 * now))
            time.sleep(0.012)
        self.mouse.up()

    def said(self) -> str:
        """All the words of the page."""
        return str(self.frame.inner_text("body"))


# The lesson that has pages of sessions.

LESSON = ROOT / "notebooks" / "04-layers.ipynb"
LIVE = "sv.watch("


def prepared(target: Path) -> list[int]:
    """Copy the lesson, with nothing run yet, and after each page of a session two cells to ask in.

    The indices of the cells with pages.
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
            for name in (f"ask{len(live)}", f"work{len(live)}"):
                cells.append(cell | {"id": name, "source": "'nothing asked yet'"})
    target.write_text(json.dumps(notebook | {"cells": cells}), encoding="utf-8")
    return live
