"""Custom activations and formula layers: available everywhere, and harmless to other kernels."""

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.engines.cpu.table import every_unit
from scalarviz.errors import FileError, InputError, UnknownNameError
from scalarviz.stage.network_layout import about_layer
from scalarviz.training.network.gradcheck import gradcheck
from tests.pages.node import InPage
from tests.sessions import advanced, fast_engines
from tests.wording import refused


def snake(x: float, slope: float = 1.0, shift: float = 0.25) -> float:
    """A curve with a period of its own for each feature, and one shift for all."""
    return x + math.sin(slope * x) ** 2.0 / slope + shift


def gate(x: Any, least: Any) -> Any:
    return sv.where(x > least, x, 0.1 * x)


def network(**options: Any) -> sv.Network:
    own = sv.layer(snake, {"slope": (6,), "shift": ()})
    layers = [sv.Dense(4, 6), own, sv.Dense(6, 3), sv.layer(gate, {"least": 3})]
    return sv.Network(layers, seed=1, **{"dtype": "float64", **options})


def session(engine: str, **options: Any) -> sv.Session:
    random = np.random.default_rng(0)
    samples = random.normal(size=(90, 4)), random.normal(size=(90, 3))
    return sv.Session(network(**options), samples, "mse", sv.Adam(0.01), batch=40, engine=engine)


def test_its_derivatives_are_found_by_recording() -> None:
    net = network()
    assert net.bank.value[net.layers[1].rows].tolist() == [1.0] * 6 + [0.25]
    assert sv.gradcheck(net, np.random.default_rng(1).normal(size=(5, 4))).error < 1e-7
    row = PARAMETRIC_FORMULAS["snake"]
    x, a = 0.7, 1.3
    assert row.derivative(x, a, 0.0) == pytest.approx(1.0 + math.sin(2.0 * a * x))
    assert row.by_parameter(1, x, a, 0.0) == 1.0
    by_slope = x * math.sin(2.0 * a * x) / a - math.sin(a * x) ** 2 / a**2
    assert row.by_parameter(0, x, a, 0.0) == pytest.approx(by_slope)


@pytest.mark.some("float64-1e-14-cpu", "float64-1e-14-cuda")
@fast_engines
@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-14), ("float32", 2e-5)])
def test_engines_agree(dtype: str, bound: float, engine: str) -> None:
    plain, fast = session("python", dtype=dtype), session(engine, dtype=dtype)
    for each in (plain, fast):
        each.advance(20)
    assert np.abs(plain.network.bank.value - fast.network.bank.value).max() < bound
    assert plain.loss == pytest.approx(fast.loss, rel=100.0 * bound)


def test_a_parameter_is_explained_without_products() -> None:
    s = session("python")
    row = s.network.layers[1].first_row
    s.advance(len(s.operations) - 1, "operation")
    found = s.explain(row)
    assert found.products is None
    assert found.total == found.grad == s.network.bank.grad[row] != 0.0
    s.advance(1, "operation")
    assert s.network.bank.value[row] == found.new_value


def test_pictures_call_it_by_its_function() -> None:
    assert about_layer(session("python"), "1")[1] == "6 → 6  snake"


def test_parameters_are_weights_by_name() -> None:
    net = network()
    layer = net.layers[1]
    assert layer.weight(6).name == "layer 1, shift"
    assert net.name_of(layer.first_row + 2) == "layer 1, slope 2"
    assert [*net.state_dict()][2:4] == ["1.slope", "1.shift"]
    layer.weight(0).value = 2.0
    assert pickle.loads(pickle.dumps(net)).state_dict()["1.slope"][0] == 2.0
    assert network().copy().layers[1].settings()["parameters"] == {"slope": 6, "shift": 1}


def test_a_file_has_its_digest_and_no_code(tmp_path: Path) -> None:
    s = advanced(session("cpu"), 4)
    s.save(tmp_path / "run.safetensors")
    s.network.save(tmp_path / "net.safetensors")
    again = advanced(sv.Session.load(tmp_path / "run.safetensors"), 3)
    s.advance(3)
    assert np.array_equal(s.network.bank.value, again.network.bank.value)
    x = np.ones((2, 4))
    loaded = sv.load(tmp_path / "net.safetensors")
    assert loaded.layers[1].settings() == s.network.layers[1].settings()
    loaded.bank.value[:] = s.network.bank.value
    np.testing.assert_allclose(loaded(x), s.network(x))
    del PARAMETRIC_FORMULAS["snake"]
    for name in ("net.safetensors", "run.safetensors"):
        refused(FileError, "'snake'").by(
            sv.load if name.startswith("net") else sv.Session.load, tmp_path / name
        )

    def other(x: float, slope: float = 1.0, shift: float = 0.25) -> float:
        return x + slope + shift

    sv.layer(other, shape=3, name="snake")
    refused(FileError, "a different layer").by(sv.load, tmp_path / "net.safetensors")


def test_one_of_the_same_name_is_replaced() -> None:
    sv.layer(gate, shape=2)
    first = PARAMETRIC_FORMULAS["gate"]
    sv.layer(gate, shape=3)
    assert PARAMETRIC_FORMULAS["gate"].digest == first.digest
    sv.layer(snake, shape=2, name="gate")
    assert PARAMETRIC_FORMULAS["gate"].digest != first.digest


def test_one_whose_formula_was_replaced_is_not_copied_as_the_other(tmp_path: Path) -> None:
    net = sv.Network([sv.layer(gate, shape=2)], seed=0)
    kept = net([0.5, 3.0])
    sv.layer(other_gate, shape=2, name="gate")
    for act in (
        net.copy,
        lambda: pickle.loads(pickle.dumps(net)),
        lambda: net.save(tmp_path / "net.safetensors"),
    ):
        refused(InputError, "another formula has the name gate now").by(act)
    assert (net([0.5, 3.0]) == kept).all()
    sv.layer(gate, shape=3)
    assert (net.copy()([0.5, 3.0]) == kept).all()


def other_gate(x: Any, least: Any) -> Any:
    return x * least * 7.0


def test_pictures_share_a_parameter_by_channel() -> None:
    layer = sv.layer(gate, {"least": (2,)}, shape=(2, 1, 2))
    layer.weight(1).value = 3.0
    assert layer([0.5, 2.0, 2.0, 4.0]).tolist() == [0.05, 2.0, 0.2, 4.0]
    assert layer.output_shape == (2, 1, 2)


@pytest.mark.slow  # kernels are compiled for the page
def test_a_page_learns_by_it(tmp_path: Path) -> None:
    s = advanced(session("cpu"), 20)
    page = InPage(session("cpu"), tmp_path)
    found = page.run("const {losses} = engine.train(20); return {losses, value: engine.value}")
    np.testing.assert_allclose(found["value"], s.network.bank.value, rtol=1e-10)
    np.testing.assert_allclose(found["losses"], s.losses, rtol=1e-10)


@pytest.mark.parametrize("ending", ["glsl", "hlsl"])
def test_a_shader_has_it(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"net.{ending}"
    network().export(path)
    assert "snake" in path.read_text(encoding="utf-8")


def alone(x: float) -> float:
    return x


def eight(
    x: float, a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float
) -> float:
    return x + a + b + c + d + e + f + g + h


def compared(x: float, least: float) -> float:
    return x if x > least else least


def text_default(x: float, a: Any = "1") -> float:
    return x * float(a)


def divided(x: float, a: float = 0.0) -> float:
    return x / a


def not_a_number(x: float, a: float = 1e300) -> float:
    return a * a * x - a * a * x


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sv.layer("snake", shape=2), "'snake'"),
        (lambda: sv.layer(alone, shape=2), "sv.activation"),
        (lambda: sv.layer(eight, shape=2), "this one 8"),
        (lambda: sv.layer(compared, shape=2), "compares"),
        (lambda: sv.layer(text_default, shape=2), "'1'"),
        (lambda: sv.layer(divided, shape=2), "ZeroDivisionError"),
        (lambda: sv.layer(not_a_number, shape=2), "is not a number"),
        (lambda: sv.layer(snake), "shape=8"),
        (lambda: sv.layer(snake, {"steep": (2,)}), "slope, shift"),
        (lambda: sv.layer(snake, [2]), "[2]"),
        (lambda: sv.layer(snake, {"slope": (2, 3)}), "(2, 3)"),
        (lambda: sv.layer(snake, {"slope": (2,), "shift": (3,)}), "2 of slope"),
        (lambda: sv.layer(snake, shape=2, name="prelu"), "'prelu'"),
        (lambda: sv.layer(math.hypot, shape=2), "hypot"),
    ],
)
def test_what_no_layer_can_be_made_of_is_refused(make: Callable[[], Any], words: str) -> None:
    before = dict(PARAMETRIC_FORMULAS)
    refused(InputError, words).by(make)
    assert before == PARAMETRIC_FORMULAS


def stretched(x: Any, parameter: Any, place: Any, stretched_by_place: Any) -> Any:
    return x * parameter + place * stretched_by_place


def test_a_parameter_can_have_any_name() -> None:
    net = sv.Network([sv.layer(stretched, shape=2)], seed=0, dtype="float64")
    assert sv.gradcheck(net, [[1.0, -2.0]]).error < 1e-7


def sin(x: Any, w: Any) -> Any:
    return math.sin(w * x)


def test_a_formula_can_have_the_name_of_what_it_calls() -> None:
    assert sv.layer(sin, shape=2)([0.5, 0.0]).tolist() == pytest.approx([math.sin(0.5), 0.0])


def test_an_unknown_formula_is_refused() -> None:
    refused(UnknownNameError, "'snaek'").by(sv.Elementwise, 3, "snaek")


def cube(x: float) -> float:
    return x * x * x


def cube_derivative(x: float, y: float) -> float:
    return 3.0 * x * x


def hurried_derivative(x: float, y: float) -> float:
    return x * x


FACTORS = {"cube": 3.0}


def looked_up(x: float, y: float) -> float:
    return FACTORS["cube"] * x * x


def test_an_activation_of_ones_own_is_known_by_its_name() -> None:
    assert gradcheck(sv.activation(cube, cube_derivative), 0.7).error < 1e-8
    net = sv.Network([1, 1], output="cube")
    net.bank.value[:] = [2.0, 0.0]
    assert net([1.5]) == 27.0
    assert gradcheck(net, [0.3]).checked == 3
    assert sv.Network([2, 3, 1], "cube").layers[0].activation == "cube"


def test_it_can_be_mended_under_the_same_name() -> None:
    sv.activation(cube, hurried_derivative, check=False)
    sv.activation(cube, cube_derivative)
    assert ACTIVATIONS["cube"].derivative(2.0, 8.0) == 12.0


def smooth(x: float) -> float:
    return x * math.tanh(math.log1p(math.exp(x)))


def bent(y: float) -> Any:  # its argument has the name of what the derivative takes besides
    return sv.where(y > 0.0, y, 0.1 * sv.minimum(y, 1.0))


def root(x: float) -> float:  # no number at the left, where nothing is compared
    return math.log(x)


def root_derivative(x: float, y: float) -> float:
    return 1.0 / x


def kink(x: float) -> float:
    return x if x > 0.0 else 0.0


@pytest.mark.some("python-cube", "cpu-smooth")
@pytest.mark.parametrize("function", [cube, smooth, bent])
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_derivative_is_found_by_itself(function: Any, engine: str) -> None:
    name = sv.activation(function).name
    net = sv.Network([2, 5, 5, 1], name, dtype="float64", engine=engine, seed=1)
    assert gradcheck(net, [0.3, -0.2]).error < 1e-7
    other = net.copy()
    other.to("python" if engine == "cpu" else "cpu")
    losses = [each.train([[0.2, 0.7]], [[0.5]], "mse", "sgd", steps=3) for each in (net, other)]
    assert losses[0].tolist() == pytest.approx(losses[1].tolist(), rel=1e-12)


def test_a_wrong_derivative_is_refused_unless_it_is_wanted() -> None:
    refused(InputError, "the derivative of cube at").by(sv.activation, cube, hurried_derivative)
    assert "cube" not in ACTIVATIONS
    assert sv.activation(cube, hurried_derivative, check=False).derivative(2.0, 8.0) == 4.0
    assert sv.activation(root, root_derivative).derivative(2.0, 0.7) == 0.5
    refused(InputError, "compares").by(sv.activation, kink)


def test_it_can_be_called_otherwise() -> None:
    assert sv.activation(cube, cube_derivative, name="third").name == "third"
    assert "third" in ACTIVATIONS and "cube" not in ACTIVATIONS


def test_an_activation_of_scalarviz_is_not_replaced() -> None:
    before = ACTIVATIONS["tanh"]
    refused(InputError, "'tanh'").by(sv.activation, cube, cube_derivative, name="tanh")
    assert ACTIVATIONS["tanh"] is before


@pytest.mark.parametrize("name", ["two words", "1st", "class", 5])
def test_a_name_is_a_plain_word(name: Any) -> None:
    refused(InputError, name).by(sv.activation, cube, cube_derivative, name=name)


def test_an_activation_is_two_functions() -> None:
    refused(InputError, "3.0").by(sv.activation, cube, 3.0)
    refused(InputError, "'cube'").by(sv.activation, "cube", cube_derivative)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("value", "derivative", "shown"),
    [
        (cube, lambda x, y: 3.0 * x * x, "'<lambda>'"),
        (cube, looked_up, "FACTORS"),
        (math.sin, cube_derivative, None),
    ],
)
def test_what_no_kernel_can_be_made_from_is_refused_and_in_nobodys_way(
    value: Any, derivative: Any, shown: str | None
) -> None:
    if shown is None:
        assert sv.activation(value, derivative, name="wave", check=False).name == "wave"
        return
    refused(InputError, shown).by(sv.activation, value, derivative)
    assert "cube" not in ACTIVATIONS
    assert all(unit.source("float64").text for unit in every_unit())
