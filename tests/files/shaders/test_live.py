"""Shaders that read their parameters from a texture compute what forward computes, and follow."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.files.shaders.live_shader import FOURS_READER, live_shader
from tests.files.shaders.test_glsl import (
    CASES,
    Case,
    asked,
    expected,
    found,
    run_all,
    write_about,
)
from tests.wording import refused

HELD = {name: case for name, case in CASES.items() if len(case.network.bank)}


def numbers_of(case: Case) -> np.ndarray:
    """The parameters, followed by the state."""
    return np.concatenate([case.network.bank.value, case.network.bank.state])


def write_live(folder: Path, name: str, case: Case) -> None:
    shader = live_shader(case.network)
    texture = shader.in_fours(numbers_of(case))
    size = [texture.shape[1], texture.shape[0]]
    np.save(folder / f"{name}.texture.npy", texture)
    (folder / f"{name}.glsl").write_text(FOURS_READER + shader.text)
    write_about(folder, name, case, texture="u_fours", size=size)


@pytest.fixture(scope="module")
def live_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("live")
    for name in asked(request):
        write_live(made, name, Case(HELD[name].network, HELD[name].samples))
    run_all(made)
    return made


@pytest.mark.some(10)
@pytest.mark.parametrize("name", HELD)
def test_it_computes_what_forward_computes(name: str, live_folder: Path) -> None:
    case = Case(HELD[name].network, HELD[name].samples)
    with np.errstate(over="ignore"):
        wanted = expected(case).astype(np.float32)
    np.testing.assert_allclose(found(live_folder, name), wanted, rtol=1e-5, atol=1e-5)


def test_a_network_of_too_many_numbers_is_refused() -> None:
    with refused(InputError, "10,003"):
        live_shader(sv.Network([2, 10000, 1]))
