"""A program that uses `erf` from the table; test_new_rows.py runs it in a process."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import near_names
from scalarviz.errors import DisplayError
from scalarviz.training.session.reading import caption
from tests.additions.erf import erf, erf_derivative
from tests.sessions import reloaded
from tests.wording import refused


def session(engine: str = "python") -> sv.Session:
    network = sv.Network([3, 4, 3], "erf", seed=0)
    return sv.Session(network, data.Rgb(), "mse", sv.SGD(0.1), batch=8, engine=engine)


def test_a_value_has_its_method() -> None:
    x = sv.Value(0.7)
    x.erf().backward()  # type: ignore[attr-defined]  # the row is not in the package
    assert x.grad == erf_derivative(0.7, erf(0.7))


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_an_expression_can_have_it(engine: str) -> None:
    f = sv.compile(lambda x: x.erf() * 2, inputs=1, engine=engine)
    assert f([0.7]) == pytest.approx([2 * erf(0.7)])


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_network_learns_with_it_and_its_run_comes_back(engine: str, tmp_path: Path) -> None:
    s = session(engine)
    before = s.advance(1)
    s.advance(20)
    again = reloaded(s.network, tmp_path)
    assert again.layers[0].activation == "erf"
    assert again([0.1, 0.2, 0.3]).tolist() == pytest.approx(s.network([0.1, 0.2, 0.3]).tolist())
    assert (reloaded(s, tmp_path).network.bank.value == s.network.bank.value).all(), before


@pytest.mark.parametrize("ending", ["glsl", "hlsl"])
def test_a_shader_has_it(ending: str, tmp_path: Path) -> None:
    session().network.export(tmp_path / f"net.{ending}")
    assert "_erf(" in (tmp_path / f"net.{ending}").read_text(encoding="utf-8")


def test_captions_say_what_the_row_says() -> None:
    s, told = session(), []
    for _ in s.operations:
        s.advance(1, "operation")
        told.append(caption(s))
    assert "Erf is almost tanh." in [each.title for each in told]
    assert any("exp(-z" in each.formula for each in told)


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    try:
        pixels = sv.picture(session(), tmp_path / "net.png", size=(320, 200), samples=1)
    except DisplayError as error:
        pytest.skip(str(error))  # no OpenGL here
    assert np.ptp(pixels) > 100


def test_who_writes_it_as_another_library_does_is_told() -> None:
    with refused(AttributeError, "'erf'"):
        sv.Erf  # type: ignore[attr-defined]  # noqa: B018  # what PyTorch calls it
    assert near_names.meaning("activation", "Erf", ["erf"]) == "erf"
