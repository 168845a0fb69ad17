"""A step in a page in browsers, compared with TensorFlow.js, and with the cpu engine on one core.

    python -m benchmarks tensorflow_js 3

npm downloads TensorFlow.js to a temporary folder. Each side has a separate tab, and they alternate.
TensorFlow.js has its batch prepared: a page draws each one, and encodes the points of the texture.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import scalarviz.pages
from benchmarks.page import session_of
from benchmarks.sides import Options, answer, short_spread

PACKAGES = "@tensorflow/tfjs@4.22.0", "@tensorflow/tfjs-backend-wasm@4.22.0"
BACKENDS = "wasm", "cpu", "webgl"
WEB = Path(scalarviz.pages.__file__).parent / "web"
SCRIPT = Path(__file__).with_name("in_browser.js")
KINDS = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"}
PATIENCE = 120_000  # milliseconds
CASES: Mapping[str, dict[str, Any]] = {
    "rgb": {
        "sizes": [3, 8, 3], "activations": ["tanh", "sigmoid"], "bias": True,
        "optimizer": "SGD", "rate": 0.5, "batch": 8,
    },
    "xor": {
        "sizes": [3, 3, 1], "activations": ["sigmoid", "sigmoid"], "bias": False,
        "optimizer": "SGD", "rate": 0.1, "batch": 1,
    },
    "12-64x4-3": {
        "sizes": [12, 64, 64, 64, 64, 3], "activations": ["leaky_relu"] * 4 + ["sigmoid"],
        "bias": True, "optimizer": "Adam", "rate": 1e-3, "batch": 1024,
    },
}  # fmt: skip


def fetched(folder: Path) -> str:
    """Fetch TensorFlow.js into a folder; return why not, or ""."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not there: apt-get install npm"
    words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", *PACKAGES]
    done = subprocess.run([*words, "--ignore-scripts"], capture_output=True, text=True)
    return f"npm could not fetch TensorFlow.js: {done.stderr.strip()}" if done.returncode else ""


def files_of(folder: Path) -> dict[str, bytes]:
    """What a tab may ask for: both sides."""
    packages = folder / "node_modules" / "@tensorflow"
    found = [
        *WEB.glob("*.js"),
        SCRIPT,
        packages / "tfjs/dist/tf.min.js",
        *(packages / "tfjs-backend-wasm/dist").glob("*.wasm"),
        packages / "tfjs-backend-wasm/dist/tf-backend-wasm.min.js",
    ]
    files = {each.name: each.read_bytes() for each in found if each.is_file()}
    page = '<!doctype html><link rel="icon" href="data:,"><script src="in_browser.js"></script>'
    files["page.html"] = page.encode()
    scripts = ("tf.min.js", "tf-backend-wasm.min.js")
    files["tensorflow.html"] = (
        page + "".join(f'<script src="{name}"></script>' for name in scripts)
    ).encode()
    return files


@contextmanager
def opened(browser: Any, name: str, files: Mapping[str, bytes]) -> Iterator[Any]:
    """A tab of its own with one of the files."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)

    def give(route: Any) -> None:
        asked = route.request.url.rpartition("/")[2]
        if asked in files:
            kind = KINDS.get(Path(asked).suffix, "application/octet-stream")
            route.fulfill(body=files[asked], content_type=kind)
        else:
            route.fulfill(status=404)

    page.route("**/*", give)
    page.goto(f"http://page.test/{name}")
    yield page
    context.close()


def engine_files(case: str) -> dict[str, bytes]:
    """The engine of the page of a case."""
    from scalarviz.pages.engine_data import engine_data

    made = engine_data(session_of(case))
    return {
        "module": bytes(made.module),
        "image": bytes(made.image),
        "spec.json": json.dumps(made.spec).encode(),
    }


def measured(browser: Any, case: str, files: Mapping[str, bytes], rounds: int) -> dict[str, Any]:
    """Seconds of a step of each side in each round, by the name of the side."""
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        with opened(browser, "page.html", files) as page:
            seconds.setdefault("page", []).append(page.evaluate("ours()") / 1e3)
        native = answer(["benchmarks.page", "native", case], NUMBA_NUM_THREADS="1")
        seconds.setdefault("native", []).append(native["step"])
        for backend in BACKENDS if "tf.min.js" in files else ():
            with opened(browser, "tensorflow.html", files) as page:
                given = [backend, CASES[case]]
                found = page.evaluate("(given) => theirs(...given)", given)
            for way in ("minimize", "trainOnBatch") if found else ():
                seconds.setdefault(f"{backend}, {way}", []).append(found[way] / 1e3)
    return seconds


def report(options: Options) -> None:
    """Microseconds a step of each side in each browser, and how they compare."""
    print("\nA step in a browser, beside TensorFlow.js and the cpu engine on one core")
    if find_spec("playwright") is None:
        print("    Playwright is not there: pip install 'scalarviz[browser]'")
        return
    with tempfile.TemporaryDirectory() as folder:
        if why := fetched(Path(folder)):
            print(f"    {why}")
        files = files_of(Path(folder))
    from tests.pages.browser import BROWSERS, FIREFOX  # needs pytest
    from tests.pages.software import CHROMIUM

    for name, program in {"chromium": CHROMIUM, "firefox": FIREFOX}.items():
        if not program.exists():
            print(f"    {name} is not there: apt-get install {program.name}")
            continue
        with BROWSERS[name]() as browser:
            for case in CASES:
                seconds = measured(browser, case, files | engine_files(case), options.rounds)
                print_case(f"{name}, {case}, batch {CASES[case]['batch']}", seconds)


def print_case(title: str, seconds: Mapping[str, list[float]]) -> None:
    print(f"    {title}")
    ours = statistics.median(seconds["page"])
    for side, found in seconds.items():
        times = statistics.median(found) / ours
        beside = "" if side == "page" else f", {times:.2f} times the page's"
        print(f"        {side:20} {short_spread(found)}{beside}")
