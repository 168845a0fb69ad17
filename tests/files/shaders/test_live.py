"""Shaders that read their parameters from a texture compute what forward computes, and follow."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.files.shaders.live import FOURS_READER, bank_reader, live_shader, map_fragment
from scalarviz.pictures.view.cubes.shaders import BYTES, FLOATS
from scalarviz.pictures.view.glsl_es import as_es
from tests.files.shaders.test_glsl import (
    CASES,
    GLSLANG,
    Case,
    expected,
    found,
    needs_glslang,
    run_all,
    write_about,
)
from tests.wording import refused

SPLIT = 64  # numbers in a line of the texture
LIVE = {
    name: case
    for name, case in CASES.items()
    if not name.startswith("BatchNorm") and case.network.inputs > 1  # a map has two
}
HELD = {name: case for name, case in CASES.items() if len(case.network.bank)}


def numbers_of(case: Case) -> np.ndarray:
    """The parameters, followed by the state."""
    return np.concatenate([case.network.bank.value, case.network.bank.state])


def in_lines(case: Case) -> np.ndarray:
    """The texture of the bank: lines of SPLIT numbers."""
    bank = numbers_of(case).astype(np.float32)
    lines = np.zeros((-(-max(1, len(bank)) // SPLIT), SPLIT), np.float32)
    lines.reshape(-1)[: len(bank)] = bank
    return lines[:, :, np.newaxis]


def write_live(folder: Path, name: str, case: Case, *, aligned: bool) -> None:
    shader = live_shader(case.network, aligned=aligned, state=True)
    if aligned:
        texture, text = shader.in_fours(numbers_of(case)), FOURS_READER
    else:
        texture, text = in_lines(case), bank_reader(SPLIT) + FLOATS
    size = [texture.shape[1], texture.shape[0]]
    np.save(folder / f"{name}.texture.npy", texture)
    (folder / f"{name}.glsl").write_text(text + shader.text)
    texture_name = "u_fours" if aligned else "u_numbers"
    write_about(folder, name, case, texture=texture_name, size=size)


@pytest.fixture(scope="module", params=[False, True], ids=["bank", "fours"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("live")
    for name, case in HELD.items():
        write_live(made, name, Case(case.network, case.samples), aligned=request.param)
    run_all(made)
    return made


@pytest.mark.some(10)
@pytest.mark.parametrize("name", HELD)
def test_it_computes_what_forward_computes(name: str, folder: Path) -> None:
    case = Case(HELD[name].network, HELD[name].samples)
    with np.errstate(over="ignore"):
        wanted = expected(case).astype(np.float32)
    np.testing.assert_allclose(found(folder, name), wanted, rtol=1e-5, atol=1e-5)


def test_running_statistics_are_refused() -> None:
    net = sv.Network([sv.Dense(2, 3), sv.BatchNorm(3), sv.Dense(3, 1)])
    with refused(InputError, "batch_norm"):
        live_shader(net)


def test_a_network_of_too_many_numbers_is_refused() -> None:
    with refused(InputError, "10,003"):
        live_shader(sv.Network([2, 10000, 1]))


def complaints(vertex: str, fragment: str, folder: Path) -> str:
    """What the reference compiler says of a program."""
    for suffix, text in (("vert", vertex), ("frag", fragment)):
        (folder / f"a.{suffix}").write_text(text)
    command = [str(GLSLANG), "-l", str(folder / "a.vert"), str(folder / "a.frag")]
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.some(5)
@needs_glslang
@pytest.mark.parametrize("name", LIVE)
def test_the_map_of_a_network_compiles_in_both_languages(name: str, tmp_path: Path) -> None:
    net = LIVE[name].network
    vertex = (Path(sv.__file__).parent / "files/shaders/network_map.vert").read_text()
    for reader in (bank_reader(1024) + FLOATS, bank_reader(1024) + BYTES, FOURS_READER):
        shader = live_shader(net, aligned=reader is FOURS_READER)
        fragment = map_fragment(net.program, shader, reader)
        old = "#version 120\n"
        assert complaints(old + vertex, old + fragment, tmp_path) == ""
        new = as_es(vertex, fragment=False), as_es(fragment, fragment=True)
        assert complaints(*new, tmp_path) == ""
