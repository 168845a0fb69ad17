"""A new kind of operation is one row and its kernels; what has no entry falls back or refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.layers import LAYERS
from scalarviz.core.layers.layer import Batch
from scalarviz.core.layers.nested import Row, TwoBranches
from scalarviz.core.program import KINDS, Kind, Program, Shape
from scalarviz.engines.reference import REFERENCES, OperationArrays, Reference, not_none
from scalarviz.errors import EngineError, InputError
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.captions import caption
from tests.studio import Studio
from tests.wording import refused


class Mirror(sv.Layer):
    """y = -x, by a kind of operation of its own."""

    def __init__(self, features: int) -> None:
        super().__init__(features, features)

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}

    def lower(self, program: Program) -> None:
        program.add("mirror", size=self.outputs)

    def forward_rows(self, batch: Batch) -> Batch:
        self.kept.extend(batch)
        return self.evaluate_rows(batch)

    def backward_rows(self, upstream: Batch) -> Batch:
        del self.kept[len(self.kept) - len(upstream) :]
        return self.evaluate_rows(upstream)

    def evaluate_rows(self, batch: Batch) -> Batch:
        return [[-x for x in sample] for sample in batch]


class Difference(TwoBranches):
    """y = a(x) - b(x), by a kind of operation that reads two buffers."""

    _kind = "difference"

    def _joined_size(self, a: int, b: int) -> int | None:
        return a if a == b else None

    def joined_shape(self, a: Shape, b: Shape) -> Shape | None:
        return ()

    def _joined(self, a: Row, b: Row) -> Row:
        return [x - y for x, y in zip(a, b, strict=True)]

    def _split(self, upstream: Row, a: Row, b: Row) -> tuple[Row, Row]:
        return upstream, [-g for g in upstream]


def difference_back(_: object, numbers: OperationArrays) -> tuple[FloatArray, FloatArray]:
    gradient = not_none(numbers.upstream)
    return gradient, -gradient


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "mirror", Kind("mirror", "y = -x"))
    mirror = Reference(lambda _, numbers: -numbers.x, lambda _, n: -not_none(n.upstream))
    monkeypatch.setitem(REFERENCES, "mirror", mirror)
    monkeypatch.setitem(KINDS, "difference", Kind("difference", "y = a - b"))
    difference = Reference(lambda _, numbers: np.subtract(*numbers.inputs), difference_back)
    monkeypatch.setitem(REFERENCES, "difference", difference)
    monkeypatch.setitem(LAYERS, "Mirror", Mirror)


@pytest.fixture
def stretched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind with parameters: what norms do with their gains, under another name."""
    add = Program.add
    monkeypatch.setitem(KINDS, "stretch", replace(KINDS["scale"], name="stretch"))
    monkeypatch.setitem(REFERENCES, "stretch", REFERENCES["scale"])

    def renamed(self: Program, kind: str, *given: Any, **named: Any) -> Any:
        return add(self, "stretch" if kind == "scale" else kind, *given, **named)

    monkeypatch.setattr(Program, "add", renamed)


def session(*layers: sv.Layer) -> sv.Session:
    network = sv.Network([sv.Dense(3, 4, "tanh"), *layers, sv.Dense(4, 3)], seed=0)
    return sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.1), batch=8, engine="python")


def told(s: sv.Session) -> list[str]:
    """The captions of a step, which also draws every picture of it."""
    found = []
    for _ in s.operations:
        s.advance(1, "operation")
        found.append(f"{caption(s).title} {caption(s).formula}")
    return found


def test_it_is_learned_and_captions_say_what_its_row_says() -> None:
    s = session(Mirror(4))
    texts = told(s)
    assert f"{text('captions.plain', name='mirror')} y = -x" in texts
    back = text("captions.row_back.title", name="mirror")
    assert f"{back} goes on = arrives × derivative of mirror" in texts
    s.advance(30)
    assert s.loss < s.losses[0]


def test_one_that_reads_two_buffers_is_learned_told_and_drawn(studio: Studio) -> None:
    s = session(Difference([sv.Dense(4, 4, "tanh"), sv.Dense(4, 4)], sv.Dense(4, 4)))
    whole = s.copy()
    texts = told(s)
    assert f"{text('captions.plain', name='difference')} y = a - b" in texts
    whole.advance(1)
    np.testing.assert_allclose(s.network.bank.value, whole.network.bank.value)
    assert sv.gradcheck(s.network, np.eye(3)).error < 1e-6
    layout = Stage(Show(s), reduced_motion=True).plan
    lines = {name: line for line in layout.neurons for name in line.buffers}
    assert lines["difference 1"].way is not None
    for place in range(len(s.operations) - 1, -1, -1):  # and back in time
        s.back(1, "operation")
        assert s.next == s.operations[place]


def test_captions_of_one_with_parameters(stretched: None) -> None:
    texts = told(session(sv.LayerNorm(4)))
    assert text("captions.plain", name="stretch") in " ".join(texts)


@pytest.mark.slow
def test_the_picture_shows_it(studio: Studio, stretched: None) -> None:
    s = session(Mirror(4), sv.LayerNorm(4))
    stage: Any = Stage(Show(s), reduced_motion=True)
    every = np.arange(len(s.network.bank))
    drawn = np.concatenate([np.ravel(every[plate.indices]) for plate in stage.plan.plates])
    assert sorted(drawn) == every.tolist()
    for _ in s.operations:
        s.advance(1, "operation")
        assert np.ptp(studio.stage(stage)) > 100


def test_a_network_with_it_is_displayed() -> None:
    assert "Mirror" in session(Mirror(4)).network._repr_html_()


@pytest.mark.parametrize("ending", ["glsl", "hlsl"])
def test_a_shader_is_refused_in_one_sentence(ending: str, tmp_path: Path) -> None:
    with refused(InputError, "'mirror'"):
        session(Mirror(4)).network.export(tmp_path / f"net.{ending}")
    session(Mirror(4)).network.export(tmp_path / "net.npz")
    assert not (tmp_path / f"net.{ending}").exists()


def test_onnx_is_refused_in_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    with refused(InputError, "Mirror"):
        sv.onnx.save(session(Mirror(4)).network, tmp_path / "net.onnx")


@pytest.mark.parametrize("name", ["mirror", "difference"])
def test_an_engine_without_its_kernels_runs_the_reference(name: str) -> None:
    layers = {
        "mirror": lambda: Mirror(4),
        "difference": lambda: Difference([sv.Dense(4, 4, "tanh"), sv.Dense(4, 4)], sv.Dense(4, 4)),
    }
    one, other = session(layers[name]()), session(layers[name]())
    other.to("cpu")
    for each in (one, other):
        each.advance(20)
    assert other.engine == "cpu"
    np.testing.assert_allclose(one.network.bank.value, other.network.bank.value, rtol=1e-5)
    whole = other.network.bank.value.copy()
    other.seek(19)
    other.advance(len(other.operations), "operation")
    assert (other.network.bank.value == whole).all()


def test_one_whose_reference_has_no_gradient_of_its_parameters_is_refused(stretched: None) -> None:
    s = session(sv.LayerNorm(4))
    s.advance(2)
    for move in (s, s.network):
        with refused(EngineError, "'stretch'"):
            move.to("cpu")
    s.advance(1)
    assert (s.step_index, s.engine) == (3, "python")
