"""WebAssembly of kernels: their text, the linker, the file of a module, the memory of a page."""

import ctypes
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.progress import Progress
from scalarviz.data import Xor
from scalarviz.engines.codegen import compiling
from scalarviz.engines.cpu import records
from scalarviz.engines.cpu.table import RUN_PASSES, units_of_optimizer
from scalarviz.engines.wasm import module
from scalarviz.engines.wasm.compile_module import (
    STACK,
    end_of_data,
    linked,
    module_of,
    piece_of,
    target,
)
from scalarviz.engines.wasm.compile_pieces import portable
from scalarviz.engines.wasm.page_memory import ADDRESSES, KERNELS, MemoryImage, as_array
from scalarviz.errors import EngineError
from tests.base.test_progress import REMOVED, Clock, Tty, clock, tty
from tests.pages.node import run_script
from tests.sessions import advanced
from tests.wording import refused

__all__ = ["clock", "tty"]  # fixtures

# As numba writes a kernel of two integers, shortened.
TEXT = """
target triple = "x86_64-unknown-linux-gnu"
@table = internal constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
define i32 @native(ptr noalias captures(none) %retptr, ptr %excinfo, i64 %at, i64 %to) {
  %rest = and i64 %at, 3
  %place = getelementptr [4 x i64], ptr @table, i64 0, i64 %rest
  %number = load i64, ptr %place
  %there = inttoptr i64 %to to ptr
  store i64 %number, ptr %there
  %bad = icmp ugt i64 %at, 3
  %status = select i1 %bad, i32 1, i32 0
  ret i32 %status
}
define ptr @cfunc.native(i64 %.1, i64 %.2) {
  call void @numba_gil_ensure(ptr null)
  ret ptr null
}
declare void @numba_gil_ensure(ptr)
"""
RUN = """
import fs from "node:fs";
const module = new WebAssembly.Module(fs.readFileSync(process.argv[2]));
const memory = new WebAssembly.Memory({initial: 8});
const table = new WebAssembly.Table({initial: 2, element: "anyfunc"});
const env = {__linear_memory: memory, __indirect_function_table: table};
new WebAssembly.Instance(module, {env});
const place = 7 * 65536;
const found = [];
for (const at of [0n, 1n, 2n, 3n]) {
  table.get(1)(at, BigInt(place));
  found.push(Number(new BigInt64Array(memory.buffer, place, 1)[0]));
}
let trapped = false;
try {
  table.get(1)(4n, BigInt(place));
} catch (error) {
  trapped = error instanceof WebAssembly.RuntimeError;
}
console.log(JSON.stringify({found, trapped}));
"""
CALLS = """
define void @kernel.0(i64 %a) {
  call void @unheard_of()
  ret void
}
declare void @unheard_of()
"""


@pytest.fixture(scope="module")
def small() -> bytes:
    """The module of TEXT."""
    return module_of_text(with_call(portable("cfunc.native", TEXT, "kernel.0")))


def module_of_text(text: str) -> bytes:
    """The module of one kernel, kernel.0."""
    machine = target()
    return module_of([piece_of(text, machine)], ["kernel.0"], machine)


def with_call(text: str) -> str:
    """A text with a call by address, so that the module has a table."""
    return text + (
        "define void @by_address(i64 %f) {\n  %p = inttoptr i64 %f to ptr\n"
        "  call void %p(i64 1)\n  ret void\n}\n"
    )


def test_a_kernel_reads_its_constants_and_an_error_of_it_stops_the_program(
    small: bytes, tmp_path: Path
) -> None:
    file, script = tmp_path / "small.wasm", tmp_path / "run.mjs"
    file.write_bytes(small)
    script.write_text(RUN)
    assert run_script(script, str(file)) == {"found": [3, 5, 7, 11], "trapped": True}


def test_the_image_begins_after_the_data_of_the_module(small: bytes) -> None:
    assert STACK < end_of_data(small) <= STACK + 128
    assert end_of_data(small) % 64 == 0


@pytest.mark.parametrize(
    ("take", "given", "wrong"),
    [
        (portable, ("native", TEXT, "kernel.0"), "native"),
        (portable, ("cfunc.other", TEXT, "kernel.0"), "other"),
        (portable, ("cfunc.native", TEXT.replace("i64 %.1,", "double %.1,"), "k"), "double"),
        (portable, ("cfunc.native", TEXT.replace(" @native(", " (", 1), "k"), "define i32 ("),
        (linked, (b"", []), "begin"),
        (linked, (b"\x7fELF and more", []), "begin"),
        (linked, (b"\0asm\2\0\0\0", []), "begin"),
        (module_of_text, (with_call(CALLS),), "unheard_of"),
    ],
    ids=[
        "no wrapper", "another kernel", "a float", "a function without a name", "nothing",
        "another format", "another version", "a function that no page has",
    ],
)  # fmt: skip
def test_what_has_another_form_is_refused(
    take: Callable[..., object], given: tuple[Any, ...], wrong: str
) -> None:
    refused(EngineError, wrong).by(take, *given)


# ---- the file of a module -----------------------------------------------------------------------

UNITS = [*units_of_optimizer(sv.SGD(0.1)).values()]


@pytest.fixture
def compilations(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What was compiled, into an empty folder: the numbers of kernels."""
    found: list[int] = []

    def compiled(units: list[object], dtype: str, *told: object) -> bytes:
        found.append(len(units))
        return b"a module for " + dtype.encode()

    monkeypatch.setattr(module, "compiled", compiled)
    return found


def test_a_module_is_compiled_once(compilations: list[int]) -> None:
    for _ in range(2):
        assert module.module_of(UNITS, "float32") == b"a module for float32"
    assert compilations == [3]
    assert module.module_of(UNITS, "float64") == b"a module for float64"
    assert module.module_of(UNITS[:2], "float64") == b"a module for float64"
    assert compilations == [3, 3, 2]


def test_a_damaged_module_is_compiled_again(compilations: list[int]) -> None:
    module.module_of(UNITS, "float32")
    path = module.path_of_module(UNITS, "float32")
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40], whole.replace(b"float32", b"float33")):
        path.write_bytes(damaged)
        assert module.module_of(UNITS, "float32") == b"a module for float32"
        assert path.read_bytes() == whole
    assert compilations == [3] * 5


@pytest.mark.usefixtures("empty_cache")
def test_a_failed_compilation_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FOR_NUMBA", {"NUMBA_DISABLE_JIT": "1"})
    refused(EngineError, "WebAssembly", varies="WebAssembly: .*").by(
        module.module_of, UNITS, "float32"
    )
    assert not [*tmp_path.glob("*.wasm")]


def test_where_nothing_can_be_kept_a_page_is_compiled_all_the_same(
    compilations: list[int],
) -> None:
    path = module.path_of_module(UNITS, "float32")
    path.mkdir()
    (path / "of somebody").touch()
    for _ in range(2):
        assert module.module_of(UNITS, "float32") == b"a module for float32"
    assert compilations == [3, 3] and [each.name for each in path.iterdir()] == ["of somebody"]


@pytest.mark.usefixtures("empty_cache")
def test_folders_of_killed_processes_are_removed_after_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "run", Mock(side_effect=EngineError("no")))
    old = time.time() - 2 * 3600
    left, busy, others = (tmp_path / name for name in ("page-a1b2", "page-c3d4", "pages"))
    for folder in (left, busy, others):
        folder.mkdir()
        (folder / "kernel.bc").touch()
    for folder in (left, others):
        os.utime(folder, (old, old))
    (tmp_path / "page-link").symlink_to(others)
    refused(EngineError).by(module.module_of, UNITS, "float32")
    found = sorted(each.name for each in tmp_path.iterdir() if each.suffix != ".py")
    assert found == ["page-c3d4", "page-link", "pages"] and (others / "kernel.bc").exists()


@pytest.mark.usefixtures("empty_cache")
def test_a_full_disk_is_an_error_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run", Mock(side_effect=OSError(28, "No space left on device")))
    refused(EngineError, "No space left").by(module.module_of, UNITS, "float32")


@pytest.mark.slow
def test_kernels_are_compiled_once_each_by_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    units = [*UNITS, RUN_PASSES]  # which calls by address, so that there is a table
    monkeypatch.setattr(module, "FEW", 1)
    caplog.set_level("INFO", "scalarviz")
    made = []
    for workers in (1, 3):
        monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / str(workers)))
        monkeypatch.setattr(compiling, "MOST", workers)
        monkeypatch.setattr(module.os, "cpu_count", lambda: 3)
        made.append(module.module_of(units, "float32"))
    assert made[0] == made[1]
    (whole,) = (tmp_path / "3").glob("*.wasm")
    whole.unlink()
    caplog.clear()
    assert module.module_of(units, "float32") == made[0]
    more = dict.fromkeys([*units, *units_of_optimizer(sv.Adam(0.1)).values()])
    module.module_of([*more], "float32")
    (said,) = [record.message for record in caplog.records if "compiles" in record.message]
    assert "compiles 2 kernels for a page" in said


@pytest.mark.usefixtures("empty_cache")
def test_a_bar_counts_the_kernels_of_a_page(
    monkeypatch: pytest.MonkeyPatch, tty: Tty, clock: Clock
) -> None:
    clock.each = 2.0

    def compiled(units: list[object], dtype: str, bar: Progress) -> bytes:
        bar.total, compiling.done = len(units), 1
        waiting.wait(1.0)
        return b"made"

    waiting = threading.Event()
    monkeypatch.setattr(module, "compiled", compiled)
    module.module_of(UNITS, "float32")
    assert re.search("compiling, once: 1 of 3 kernels [━╺╸]+ +33%", tty.words)
    assert tty.getvalue().endswith(REMOVED)


# ---- the memory of a page -----------------------------------------------------------------------


def test_every_address_in_a_record_is_listed() -> None:
    network = sv.Network([3, 4, 1], "tanh", seed=0)
    session = advanced(
        sv.Session(network, Xor(bias=True), optimizer=sv.Adam(), batch=1, engine="cpu"), 1
    )
    job = session.trainer.run._job
    given = [job.record, job.program, job.bank, job.samples, job.batch, job.update, job.progress]
    tables = [
        *job.kept("program", "plan", "operations"),
        *job.kept("update", "how"),
        *job.kept("samples", "drawing"),
    ]
    for each in map(as_array, [*given, *tables]):
        listed = {*ADDRESSES[each.dtype], *KERNELS.get(each.dtype, ())}
        assert each.dtype.names is not None and listed <= {*each.dtype.names}
        for name in each.dtype.names:
            numbers = each[name].tolist()
            large = [number for number in numbers if isinstance(number, int) and number >= 2**32]
            assert not large or name in listed, (name, numbers)


def test_records_in_an_image_lead_to_the_copies() -> None:
    bank, numbers, room = records.BankRecord(), np.arange(5.0), np.zeros(3)
    bank.value, bank.rows = numbers.ctypes.data + 16, 5
    bank.state = room.ctypes.data
    image = MemoryImage(1024)
    image.add(bank)
    image.add(room, empty=True)
    image.add(numbers)
    content = image.build()
    (found,) = np.frombuffer(content, records.BANK, 1, image.place(bank) - 1024)
    at = int(found["value"]) - 1024
    assert np.frombuffer(content, np.float64, 3, at).tolist() == [2.0, 3.0, 4.0]
    assert found["rows"] == 5 and found["grad"] == 0
    assert found["state"] == image.place(room) >= 1024 + len(content)
    assert image.end >= image.place(room) + room.nbytes
    assert image.fields(bank)["rows"] == image.place(bank) + records.BankRecord.rows.offset


def test_an_address_of_nothing_in_an_image_is_refused() -> None:
    bank, numbers = records.BankRecord(), np.arange(5.0)
    bank.value = numbers.ctypes.data
    image = MemoryImage(1024)
    image.add(bank)
    refused(EngineError, "address").by(image.build)
    assert ctypes.sizeof(bank) == 80
