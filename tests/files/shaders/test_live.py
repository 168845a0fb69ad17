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
    grid,
    needs_glslang,
    run_all,
    write_about,
)
from tests.wording import refused

SPLIT = 64  # numbers in a line of the texture
LIVE = {name: case for name, case in CASES.items() if not name.startswith("BatchNorm")}
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


def write_live(folder: Path, name: str, case: Case, *, aligned: bool, **more: str) -> None:
    shader = live_shader(case.network, aligned=aligned, neurons=bool(more), state=True)
    if aligned:
        texture, text = shader.in_fours(numbers_of(case)), FOURS_READER
    else:
        texture, text = in_lines(case), bank_reader(SPLIT) + FLOATS
    size = [texture.shape[1], texture.shape[0]]
    np.save(folder / f"{name}.texture.npy", texture)
    (folder / f"{name}.glsl").write_text(text + shader.text)
    texture_name = "u_fours" if aligned else "u_numbers"
    write_about(folder, name, case, texture=texture_name, size=size, **more)


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
        shader = live_shader(net, aligned=reader is FOURS_READER, neurons=net.inputs == 2)
        fragment = map_fragment(net.program, shader, reader, [0.5] * net.inputs)
        old = "#version 120\n"
        assert complaints(old + vertex, old + fragment, tmp_path) == ""
        new = as_es(vertex, fragment=False), as_es(fragment, fragment=True)
        assert complaints(*new, tmp_path) == ""


def test_neurons_have_their_own_numbers(tmp_path: Path) -> None:
    net, samples = sv.Network([2, 5, 3], "tanh", seed=3), grid(2)
    weights, biases = net.bank.value[:10].reshape(5, 2), net.bank.value[10:15]
    sums = samples @ weights.T.astype(float) + biases
    wanted = {(0, 1): samples[:, 1], (1, 2): sums[:, 2], (2, 4): np.tanh(sums[:, 4])}
    for buffer, place in wanted:
        call = f"y[0] = network_neuron(x, {buffer}, {place});"
        write_live(tmp_path, f"b{buffer}", Case(net, samples), aligned=False, call=call)
    run_all(tmp_path)
    for (buffer, _), numbers in wanted.items():
        seen = found(tmp_path, f"b{buffer}")[:, 0]
        np.testing.assert_allclose(seen, numbers, rtol=1e-5, atol=1e-5)
    assert live_shader(net).buffers == tuple(buffer.name for buffer in net.program.buffers)
