"""A page that is made where nothing compiles and no thread starts, as in a browser."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.engines.codegen.cache_files import keep
from scalarviz.engines.wasm.compile_module import (
    A_MEMORY,
    A_TABLE,
    CODE,
    CONSTANT,
    ELEMENTS,
    END,
    FIRST,
    FUNCTIONS,
    IMPORTS,
    MEMORY,
    STOP,
    TABLE,
    TYPES,
    only,
    section,
    sections_of,
    signed,
    unsigned,
)
from scalarviz.engines.wasm.module import name_of, shared_module, units_of_pages
from scalarviz.pages.engine_data import training_of
from tests.pages.node import run_script
from tests.pages.pages import data_in
from tests.pages.test_engine import InPage, rgb
from tests.root import ROOT

ALONE = """
import sys, threading

def start(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
for name in ("numba", "llvmlite", "vispy", "freetype", "OpenGL"):
    sys.modules[name] = None
import scalarviz as sv
from scalarviz import data
network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
session = sv.Session(network, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, seed=0)
session.advance(3)
"""
LOOKS = """
import fs from "node:fs";
const module = new WebAssembly.Module(fs.readFileSync(process.argv[2]));
const memory = new WebAssembly.Memory({initial: 8});
const table = new WebAssembly.Table({initial: 4, element: "anyfunc"});
const env = {__linear_memory: memory, __indirect_function_table: table};
new WebAssembly.Instance(module, {env});
const found = [1, 2, 3].map(k => {
  try { return table.get(k)(); } catch { return "stopped"; }
});
console.log(JSON.stringify(found));
"""


def name(word: str) -> bytes:
    return unsigned(len(word)) + word.encode()


def module_of_numbers(count: int) -> bytes:
    """A module, as `linked` makes them, whose kernel k returns k."""
    body = [bytes([0, CONSTANT]) + signed(k) + bytes([END]) for k in range(count)]
    table = bytes([A_TABLE, 0x70, 0]) + unsigned(FIRST + count)
    return b"\0asm\1\0\0\0" + b"".join(
        [
            section(TYPES, unsigned(1), bytes([0x60, 0, 1, 0x7F])),
            section(
                IMPORTS,
                unsigned(2),
                *(name("env"), name(MEMORY), bytes([A_MEMORY, 0, 1])),
                *(name("env"), name(TABLE), table),
            ),
            section(FUNCTIONS, unsigned(count), bytes(count)),
            section(
                ELEMENTS,
                bytes([1, 0, CONSTANT]) + signed(FIRST) + bytes([END]),
                *(unsigned(count), *map(unsigned, range(count))),
            ),
            section(CODE, unsigned(count), *(unsigned(len(each)) + each for each in body)),
        ]
    )


def run_alone(script: str, cache: Path) -> str:
    env = {**os.environ, "SCALARVIZ_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE + script],
        capture_output=True, text=True, env=env, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with a shared module whose kernels do nothing."""
    folder = tmp_path_factory.mktemp("cache")
    units = units_of_pages()
    keep(folder / name_of(units, "float32"), module_of_numbers(len(units)))
    return folder


def test_a_page_that_trains_is_made_where_nothing_compiles(cache: Path, tmp_path: Path) -> None:
    page = tmp_path / "rgb.html"
    run_alone(f"sv.page(session, {str(page)!r})", cache)
    data = data_in(page.read_bytes())
    assert data["spec"]["engine"]["kernels"] == FIRST + len(units_of_pages())


def test_an_activation_with_settings_changes_no_module_of_other_pages() -> None:
    units = units_of_pages()
    sv.Dense(2, 2, "leaky_relu(0.25)")
    assert units_of_pages() == units


def test_a_page_without_its_kernels_has_a_recording(tmp_path: Path) -> None:
    said = run_alone(
        "from pathlib import Path\nfrom scalarviz.engines.wasm import module\n"
        "module.SHARED_FOLDER = Path('none')\n"
        f"sv.page(session, {str(tmp_path / 'rgb.html')!r}, steps=5)\n"
        "from scalarviz.pages.engine_data import why_not\nprint(why_not(session))",
        tmp_path,
    )
    assert "numba is not installed" in said


def test_a_shared_module_keeps_the_kernels_of_a_network_in_their_places(tmp_path: Path) -> None:
    script, file = tmp_path / "look.mjs", tmp_path / "module"
    script.write_text(LOOKS)
    file.write_bytes(only(module_of_numbers(3), {1}))
    assert run_script(script, str(file)) == ["stopped", 1, "stopped"]


def test_a_module_with_all_its_kernels_is_as_it_was() -> None:
    assert only(module_of_numbers(5), range(5)) == module_of_numbers(5)


def test_kernels_that_a_network_does_not_use_take_four_bytes(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(cache))
    units = training_of(rgb(engine="python").trainer, 0).units()
    found = shared_module(units, "float32")
    assert found is not None
    every, module = found
    places = [each for number, _, *each in sections_of(module) if number == CODE]
    ((low, high),) = places
    assert module[low:high].count(STOP) == len(every) - len(units)


@pytest.mark.slow
def test_training_by_the_shared_module_has_the_same_bits(tmp_path: Path) -> None:
    units = training_of(rgb().trainer, 0).units()
    own = InPage(rgb(), made(tmp_path / "own"), units=units)
    shared = InPage(rgb(), made(tmp_path / "shared"), units=units_of_pages())
    steps = "const {losses} = engine.train(300); return {losses, value: engine.value}"
    assert own.run(steps) == shared.run(steps)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
