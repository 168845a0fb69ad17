"""New activations, losses, data sets and kinds of operation.

A row each, which everything else takes from the table.
"""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import FloatArray, number
from scalarviz.base.texts import text
from scalarviz.core.formulas.losses import LOSSES, LossRow
from scalarviz.core.formulas.metric_formulas import METRICS, MetricRow
from scalarviz.core.layers import LAYERS
from scalarviz.core.layers.layer import Batch
from scalarviz.core.layers.nested import Row, TwoBranches
from scalarviz.core.program import KINDS, Kind, Program, Shape
from scalarviz.data import DATA_SETS
from scalarviz.data.data_set import DataChoice, TableSet
from scalarviz.engines.reference import REFERENCES, OperationArrays, Reference, not_none
from scalarviz.errors import EngineError, InputError
from scalarviz.faces.controller.options import Options
from scalarviz.faces.controller.train import train
from scalarviz.pages.page import page_of
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES, Theme
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.layout.division import Box
from scalarviz.stage.data_exhibits import EXHIBITS, exhibit_of
from scalarviz.stage.network_layout import layout_of, tints_of
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session.reading import caption, names_of
from tests.engines.test_cuda import needs_numba_cuda
from tests.machine import output_of
from tests.sessions import advanced, fast_engines, reloaded
from tests.studio import Studio
from tests.wording import refused

WITH_ERF = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "erf", "-m", ""]
WITH_ERF += ["-p", "tests.additions.erf"]


def run(*options: str, **settings: str) -> str:
    """Run the tests that are about erf in a process that has it in its table; what it printed."""
    return output_of(*WITH_ERF, *options, env=os.environ | settings | {"WITH_ERF": "1"})


@pytest.mark.slow  # kernels with one more formula are compiled, the first time
def test_everything_knows_an_activation_by_its_row() -> None:
    names = """
        additions/with_erf.py core/formulas/test_activations.py core/formulas/test_compiled.py
        core/test_value_graph.py engines/test_one_answer.py files/onnx/test_saving.py
        story/test_captions.py files/shaders/test_glsl.py
    """
    for name in names.split():
        assert " passed" in run(f"tests/{name}"), name


@pytest.mark.slow
@needs_numba_cuda
def test_the_cuda_engine_knows_it_too() -> None:
    simulated = "-p", "tests.engines.simulator", "-W", "ignore::RuntimeWarning"
    assert " passed" in run(
        "tests/engines/test_one_answer.py", "-k", "erf-cuda", *simulated, NUMBA_ENABLE_CUDASIM="1"
    )


QUARTIC = LossRow(
    "quartic",
    lambda p, t: (p - t) ** 4,
    lambda p, t: 4.0 * (p - t) ** 3,
    error="(p - t)^4",
    slope="4 (p - t)^3",
)


def loss_captions() -> list[str]:
    """The formulas of the captions of one step."""
    network = sv.Network([2, 1], output="linear", seed=0)
    s = sv.Session(network, data.Xor(), "quartic", sv.SGD(0.1), batch=1, engine="python")
    formulas = []
    for _ in s.operations:
        s.advance(1, "operation")
        formulas.append(caption(s).formula)
    return formulas


def test_a_network_learns_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LOSSES, "quartic", QUARTIC)
    network = sv.Network([2, 1], output="linear", seed=0)
    s = advanced(sv.Session(network, data.Xor(), "quartic", sv.SGD(0.1), engine="python"), 50)
    assert s.losses[-1] < 0.5 * s.losses[0]


@pytest.mark.parametrize(
    ("row", "captions"),
    [
        (QUARTIC, {"L = mean of (p - t)^4", "signal = 4 × (p - t)^3"}),
        (
            replace(QUARTIC, error="", slope=""),
            {"L = mean of quartic(p, t)", "signal = quartic'(p, t)"},
        ),
    ],
    ids=["of its row", "by its name"],
)
def test_its_captions_are_those_of_its_row_or_say_its_name(
    row: LossRow, captions: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOSSES, "quartic", row)
    assert captions <= set(loss_captions())


@final
class Thermometer(TableSet):
    """Warmth as three shades; what is asked for is how warm it is."""

    name = "thermometer"
    input_names = ("cold", "mild", "hot")
    input_tint = "grey"
    output_names = ("warmth",)
    choices: ClassVar = {"scale": DataChoice(("1", "2"), "degrees of a shade")}

    def __init__(self, *, scale: float = 1.0) -> None:
        inputs = np.eye(3)
        targets = number(float(scale), "scale") * np.array([[0.0], [0.5], [1.0]])
        super().__init__((inputs, targets), {"scale": float(scale)})


@dataclass(frozen=True)
class Gauge(Exhibit):
    """How warm it is said to be."""

    said: FloatArray
    title: str = "how warm"

    def words(self) -> list[str]:
        return [f"shade of warmth {value:.2f}" for value in self.said]

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        canvas.box(box.x, box.y, box.width, box.height, theme.accent)


@pytest.fixture
def thermometer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATA_SETS, "thermometer", Thermometer)
    monkeypatch.setitem(
        EXHIBITS, "thermometer", lambda ask, data, engine: Gauge(ask(data.training[0])[:, 0])
    )


def thermometer_session(engine: str = "python") -> sv.Session:
    network = sv.Network([3, 4, 1], "tanh", seed=0)
    return sv.Session(network, Thermometer(), "mse", sv.SGD(0.1), engine=engine)


@pytest.fixture
def s() -> sv.Session:
    return thermometer_session()


@pytest.mark.usefixtures("thermometer_rows")
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_it_is_learned_and_its_run_comes_back(engine: str, tmp_path: Path) -> None:
    s = advanced(thermometer_session(engine), 20)
    assert s.loss < s.losses[0]
    again = reloaded(s, tmp_path)
    assert isinstance(again.data, Thermometer)
    assert (again.network.bank.value == s.network.bank.value).all()


@pytest.mark.usefixtures("thermometer_rows")
def test_its_neurons_have_its_names_and_tints(s: sv.Session) -> None:
    program = s.network.program
    assert names_of(s) == {
        program.inputs.name: ("cold", "mild", "hot"),
        program.outputs.name: ("warmth",),
    }
    values = {program.inputs.name: np.array([0.0, 0.5, 1.0]), program.outputs.name: np.ones(1)}
    assert tints_of(s, values)[program.inputs.name].tolist() == [[0.0] * 3, [0.5] * 3, [1.0] * 3]
    assert layout_of(s).plates


@pytest.mark.usefixtures("thermometer_rows")
def test_a_control_changes_its_choices(s: sv.Session) -> None:
    options = Options(None, Show(s))
    settings = s.trainer.settings
    (choice,) = options.choices(settings)
    assert (choice.name, choice.choices, choice.help) == ("scale", ("1", "2"), "degrees of a shade")
    options.set(s, settings, "scale", "2")
    assert s.data.settings()["scale"] == 2.0


@pytest.mark.usefixtures("thermometer_rows")
def test_captions_and_terminal_show_it(capsys: pytest.CaptureFixture[str], s: sv.Session) -> None:
    s.advance(1, "operation")
    assert caption(s).title
    exhibit = exhibit_of(s)
    assert isinstance(exhibit, Gauge) and exhibit.wanted(1280.0, 600.0) == 320.0
    assert train(Show(s), 2) == 0
    assert capsys.readouterr().out.count("shade of warmth ") == 3


@pytest.mark.usefixtures("thermometer_rows")
def test_the_picture_has_its_exhibit(studio: Studio, s: sv.Session) -> None:
    s.advance(2)
    pixels = studio.stage(Stage(Show(s)), 0.0, (1280, 800))
    color = np.array([int(THEMES["dark"].accent[i : i + 2], 16) for i in (1, 3, 5)])
    assert (abs(pixels - color).max(axis=2) <= 3).sum() > 5000


@pytest.mark.usefixtures("thermometer_rows")
def test_nothing_asks_which_data_set_it_is() -> None:
    names = "|".join(kind.__name__ for kind in DATA_SETS.values())
    asks = re.compile(rf"isinstance\([^)]*\b({names})\b")
    package = Path(sv.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert [path for path, text in texts.items() if asks.search(text)] == []


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


@pytest.fixture
def mirror_rows(monkeypatch: pytest.MonkeyPatch) -> None:
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

    monkeypatch.setattr(
        Program,
        "add",
        lambda self, kind, *given, **named: add(
            self, "stretch" if kind == "scale" else kind, *given, **named
        ),
    )


def mirror_session(*layers: sv.Layer) -> sv.Session:
    network = sv.Network([sv.Dense(3, 4, "tanh"), *layers, sv.Dense(4, 3)], seed=0)
    return sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.1), batch=8, engine="python")


def mirror_captions(s: sv.Session) -> list[str]:
    """The captions of a step, which also draws every picture of it."""
    found = []
    for _ in s.operations:
        s.advance(1, "operation")
        said = caption(s)
        found.append(f"{said.why if 'incoming' in said.formula else said.title} {said.formula}")
    return found


@pytest.mark.usefixtures("mirror_rows")
def test_it_is_learned_and_captions_say_what_its_row_says() -> None:
    s = mirror_session(Mirror(4))
    texts = mirror_captions(s)
    assert f"{text('captions.plain', name='mirror')} y = -x" in texts
    back = text("captions.row_back.title", name="mirror")
    assert f"{back} outgoing = incoming × derivative of mirror" in texts
    s.advance(30)
    assert s.loss < s.losses[0]


@pytest.mark.usefixtures("mirror_rows")
def test_one_that_reads_two_buffers_is_learned_told_and_drawn(studio: Studio) -> None:
    s = mirror_session(Difference([sv.Dense(4, 4, "tanh"), sv.Dense(4, 4)], sv.Dense(4, 4)))
    whole = s.copy()
    assert f"{text('captions.plain', name='difference')} y = a - b" in mirror_captions(s)
    whole.advance(1)
    np.testing.assert_allclose(s.network.bank.value, whole.network.bank.value)
    assert sv.gradcheck(s.network, np.eye(3)).error < 1e-6
    layout = Stage(Show(s), reduced_motion=True).plan
    lines = {name: line for line in layout.neurons for name in line.buffers}
    assert lines["difference 1"].way is not None
    for place in range(len(s.operations) - 1, -1, -1):  # and back in time
        s.back(1, "operation")
        assert s.next == s.operations[place]


@pytest.mark.usefixtures("mirror_rows")
def test_captions_of_one_with_parameters(stretched: None) -> None:
    texts = mirror_captions(mirror_session(sv.LayerNorm(4)))
    assert text("captions.plain", name="stretch") in " ".join(texts)


@pytest.mark.usefixtures("mirror_rows")
@pytest.mark.slow
def test_the_picture_shows_it(studio: Studio, stretched: None) -> None:
    s = mirror_session(Mirror(4), sv.LayerNorm(4))
    stage: Any = Stage(Show(s), reduced_motion=True)
    every = np.arange(len(s.network.bank))
    drawn = np.concatenate([np.ravel(every[plate.indices]) for plate in stage.plan.plates])
    assert sorted(drawn) == every.tolist()
    for _ in s.operations:
        s.advance(1, "operation")
        assert np.ptp(studio.stage(stage)) > 100


@pytest.mark.usefixtures("mirror_rows")
def test_a_network_with_it_is_displayed() -> None:
    assert "Mirror" in mirror_session(Mirror(4)).network._repr_html_()


@pytest.mark.usefixtures("mirror_rows")
@pytest.mark.parametrize("ending", ["glsl", "hlsl"])
def test_a_shader_is_refused_in_one_sentence(ending: str, tmp_path: Path) -> None:
    refused(InputError, "'mirror'").by(
        mirror_session(Mirror(4)).network.export, tmp_path / f"net.{ending}"
    )
    mirror_session(Mirror(4)).network.export(tmp_path / "net.npz")
    assert not (tmp_path / f"net.{ending}").exists()


@pytest.mark.usefixtures("mirror_rows")
def test_onnx_is_refused_in_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    refused(InputError, "Mirror").by(
        sv.onnx.save, mirror_session(Mirror(4)).network, tmp_path / "net.onnx"
    )


@pytest.mark.usefixtures("mirror_rows")
@fast_engines
@pytest.mark.parametrize("name", ["mirror", "difference"])
def test_an_engine_without_its_kernels_runs_the_reference(name: str, engine: str) -> None:
    layers = {
        "mirror": lambda: Mirror(4),
        "difference": lambda: Difference([sv.Dense(4, 4, "tanh"), sv.Dense(4, 4)], sv.Dense(4, 4)),
    }
    one, other = mirror_session(layers[name]()), mirror_session(layers[name]())
    other.to(engine)
    for each in (one, other):
        each.advance(20)
    assert other.engine == engine
    np.testing.assert_allclose(one.network.bank.value, other.network.bank.value, rtol=1e-5)
    whole = other.network.bank.value.copy()
    other.seek(19)
    other.advance(len(other.operations), "operation")
    assert (other.network.bank.value == whole).all()


@pytest.mark.usefixtures("mirror_rows")
def test_one_whose_reference_has_no_gradient_of_its_parameters_is_refused(stretched: None) -> None:
    s = advanced(mirror_session(sv.LayerNorm(4)), 2)
    for move in (s, s.network):
        refused(EngineError, "'stretch'").by(move.to, "cpu")
    s.advance(1)
    assert (s.step_index, s.engine) == (3, "python")


def spread_of_errors(p: Any, t: Any, w: Any = None) -> float:
    return float(np.ptp(p - t))


def test_a_metric_is_public_and_a_page_that_does_not_know_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row, public = MetricRow("spread_of_errors", spread_of_errors), sv.metrics
    monkeypatch.setitem(METRICS, row.name, row)
    assert public.spread_of_errors([1.0, 4.0], [1.0, 2.0]) == 2.0
    net, pair = sv.Network([1, 1]), ([[1.0], [2.0]], [[1.0], [2.0]])
    s = advanced(sv.Session(net, pair, metrics=[row.name, "mae"], every=1), 1)
    assert len(s.metrics[row.name][0]) == 1
    made = page_of(s)
    assert made.left_out == (row.name,) and row.name in made.words("a.html")
    with pytest.raises(AttributeError):
        assert public.spread
