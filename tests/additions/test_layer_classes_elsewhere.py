"""Layers that users write in files, copies, sweeps, pictures, pages, and where they cannot run."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.core.layers import LAYERS
from scalarviz.core.layers.custom_layers import OWN
from scalarviz.core.precision import Precision
from scalarviz.engines.registry import ENGINES, choose_best
from scalarviz.errors import (
    EngineError,
    FileError,
    InputError,
)
from scalarviz.scene.frame_data import CardLine
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.captions import caption
from scalarviz.story.weight_card import blocks_about
from tests.additions.layer_classes import (
    PLACES,
    Odd,
    Radial,
    Scaled,
    Sines,
    X,
    radial,
    same_bits,
    session,
)
from tests.engines.agreement import difference
from tests.wording import refused

# ---- files, copies, processes -------------------------------------------------------------------


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    s = session("cpu")
    s.advance(20)
    s.network.save(tmp_path / "net.safetensors")
    s.save(tmp_path / "run.safetensors")
    net, other = (
        sv.load(tmp_path / "net.safetensors"),
        sv.Session.load(tmp_path / "run.safetensors"),
    )
    assert type(net.layers[1]) is Radial
    assert net.bank.value.tobytes() == s.network.bank.value.tobytes()
    s.advance(10)
    other.advance(10)
    assert other.engine == "cpu" and same_bits(s, other)


def test_a_file_whose_class_is_not_defined_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session("cpu").network.save(tmp_path / "net.safetensors")
    monkeypatch.delitem(OWN, "Radial")
    with refused(FileError, "'Radial'"):
        sv.load(tmp_path / "net.safetensors")


@pytest.mark.parametrize("name", ["Dense", "Scaled"])
def test_a_name_that_another_class_has_is_not_saved(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OWN, name, OWN.get(name))
    first: Any = type(name, (Scaled,), {})
    if name not in LAYERS:
        sv.Network([first(2)]).save(tmp_path / "net.safetensors")
        type(name, (Scaled,), {})
    with refused(InputError, name):
        sv.Network([first(2)]).save(tmp_path / "net.safetensors")
    assert type(sv.Dense(2, 2).again()) is sv.Dense


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({}, "'features'"),
        ({"features": 2, "size": 3}, "'size'"),
        ({"features": 2, "factor": np.ones(2)}, "array([1., 1.])"),
        ({"features": 2, "factor": float("nan")}, "nan"),
    ],
)
def test_settings_that_do_not_make_it_again_are_not_saved(
    settings: Any, value: str, tmp_path: Path
) -> None:
    made: Any = type("Scant", (Scaled,), {"settings": lambda self: dict(settings)})
    with refused(InputError, value):
        sv.Network([made(2)]).save(tmp_path / "net.safetensors")
    assert not (tmp_path / "net.safetensors").exists()


def test_copies_pickles_and_replicas_have_its_numbers() -> None:
    s = session("cpu")
    s.advance(10)
    for other in (s.copy().network, pickle.loads(pickle.dumps(s.network)), s.network.copy()):
        assert other.bank.value.tobytes() == s.network.bank.value.tobytes()
        assert other.to("cpu")(X).tobytes() == s.network(X).tobytes()
    many = sv.replicate(session("cpu"), seeds=[0, 1, 2])
    many.advance(12)
    alone = session("cpu", seed=1)
    alone.advance(12)
    assert difference(many.losses[1], alone.losses) < 1e-12
    assert len({*many.losses[:, -1].tolist()}) == 3


# ---- where it cannot run ------------------------------------------------------------------------


def test_auto_does_not_choose_cuda_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    net = sv.Network(radial(), seed=0)
    with monkeypatch.context() as patch:
        cuda = ENGINES["cuda"].__class__(
            "cuda", ENGINES["cuda"].make, str, lambda: ENGINES["cpu"].kernels()
        )
        patch.setitem(ENGINES, "cuda", cuda)
        assert choose_best(10**9, Precision(), net.program).name == "cpu"
        plain = sv.Network([2, 3])
        assert choose_best(10**9, Precision(), plain.program).name == "cuda"
    assert net.to("auto").engine == "cpu"


def test_pictures_draw_a_matrix_and_biases_as_those_of_dense() -> None:
    shapes = {
        type(layer): sv.Network([layer]).program.operations[0]
        for layer in (Radial(4, 6), Sines(4, 6), Odd(3), Scaled(3))
    }
    assert {kind: (op.shape, op.biases) for kind, op in shapes.items()} == {
        Radial: ((6, 4), -1), Sines: ((6, 4), 24), Odd: ((7,), -1), Scaled: ((), -1),
    }  # fmt: skip


@pytest.mark.some(3)
@pytest.mark.parametrize("name", PLACES)
def test_it_is_drawn_and_told_at_each_moment(name: str) -> None:
    s = session("cpu", *PLACES[name]())
    s.advance(2)
    stage: Any = Stage(Show(s), reduced_motion=True)
    every = np.arange(len(s.network.bank))
    drawn = [np.ravel(every[plate.indices]) for plate in stage.plan.plates]
    assert {*np.concatenate(drawn).tolist()} == {*every.tolist()}
    own = next(each for each in s.network.program.operations if each.own is not None)
    titles = set()
    for row in [None, *list(own.parameters)[-2:]]:
        stage.pinned = row
        for _ in s.operations:
            s.advance(1, "operation")
            stage.frame_data()
            titles.add(caption(s, row).title)
            if row is not None:
                grad = [f"grad = {s.network.bank.grad[row]:.6g}"]
                assert str(s.explain(row)).splitlines()[1:2] in ([], grad)
                told = [each.words for each in blocks_about(s, row) if isinstance(each, CardLine)]
                assert told and text("explanation.beyond") not in told
    assert name == "last" or text("captions.plain", name=type(own.own).__name__) in titles


def test_a_page_trains_no_such_network_and_records_it(tmp_path: Path) -> None:
    s = session("cpu")
    with refused(EngineError, "Radial(4 -> 6) of layer 1"):
        sv.page(s, tmp_path / "a.html", engine=True)
    assert sv.page(s, tmp_path / "a.html", steps=10) > 100_000


@pytest.mark.parametrize("ending", ["glsl", "onnx"])
def test_other_formats_refuse_it_in_one_sentence(ending: str, tmp_path: Path) -> None:
    if ending == "onnx":
        pytest.importorskip("onnx", reason="the extra onnx is not installed")
    with refused(InputError, "Radial"):
        session("cpu").network.save(tmp_path / f"net.{ending}")
