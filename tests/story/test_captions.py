"""Captions of operations, of a training that plays and of the tour, against numpy."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.errors import ShapeError
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.narration import progress_in
from scalarviz.stage.stage import Stage
from scalarviz.story import captions
from scalarviz.story.caption import Caption, Group
from scalarviz.story.equations import EquationTerm, in_brackets, sum_line
from scalarviz.story.formats import agreeing, both, fill, pretty, said, written_alike
from scalarviz.story.guide import Tour, tour_caption
from scalarviz.story.judging import is_close
from scalarviz.story.panel_words import group_words, number, percent, said_goal
from scalarviz.story.traced_weight import path_of_neuron
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.reading import caption, facts_of
from tests.pages.node import in_web
from tests.pages.states import spec_of
from tests.sessions import advanced, colours, image, inverting, plane
from tests.story.caption_reader import NUMBER, agrees, equations, value_of, walk
from tests.wording import refused


def rgb(batch: int = 8, optimizer: sv.Optimizer | None = None, **options: Any) -> sv.Session:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
    optimizer = optimizer or sv.SGD(0.5)
    return sv.Session(
        network, data.Rgb(), optimizer=optimizer, batch=batch, engine="python", **options
    )


BEFORE_UPDATE = -1  # the count of operations before the last one


@pytest.fixture
def digits() -> Any:
    return load(find("digits"))(engine="cpu").session


@pytest.fixture
def s() -> sv.Session:
    return rgb()


def numbers_in(line: str) -> list[float]:
    """The numbers of a line."""
    return [float(found) for found in NUMBER.findall(line)]


def close(value: float) -> Any:
    """As near as two digits are."""
    return pytest.approx(float(value), rel=6e-2, abs=1e-12)


# The whole of a step.


def test_a_step_is_told_in_plain_sentences() -> None:
    s = advanced(rgb(8), 2)
    titles = {name: said.title for name, said in walk(s, 3 * 5 + 1).items()}
    prediction, target = s.numbers("sigmoid 1").outputs, s.trainer.batches.at(2)[1]
    assert prediction is not None
    p, t = float(prediction[0, 2]), float(target[0, 2])
    old, new = titles["step"].rstrip(".").split(" moved: ")[-1].split(" → ")
    assert float(new) == close(s.network.bank.value[16]) and old != new
    off = np.abs(prediction[0] - target[0]).mean()
    sums = {name: number(float(s.numbers(name).outputs[0, i])) for name, i in PLACES.items()}
    assert list(titles.values()) == [
        "One step uses all eight; we follow one.",
        f"This neuron adds up four numbers: {sums['affine 0']}.",
        f"{sums['affine 0']} becomes {sums['tanh 0']}.",
        f"B adds up nine numbers: {sums['affine 1']}.",
        f"{sums['affine 1']} becomes {sums['sigmoid 1']} blue.",
        f"How wrong is this answer? Off by {number(off, 3)}.",
        f"B is {number(p, 3)} and should be {said_goal(t, 3)}.",
        f"This weight should be {way(s, 32 + 2 * 8 + 5)}.",
        f"This neuron is to blame: its output should {'rise' if blamed(s) < 0.0 else 'fall'}.",
        "The curve lets some of the blame through.",
        f"This weight should be {way(s, 16)}.",
        f"The weight from input G to neuron 5 moved: {old} → {new}.",
    ]


@pytest.mark.parametrize(("weight", "does"), [(0.4, "keeps"), (-0.4, "turns")])
def test_blame_that_goes_through_one_weight_says_what_its_sign_does(
    weight: float, does: str
) -> None:
    network = sv.Network([2, 3, 1], "tanh", "tanh", seed=0, dtype="float64")
    network.bank.value[9:12] = weight
    session = sv.Session(network, (np.ones((4, 2)), np.ones((4, 1))), engine="python", batch=4)
    session.advance(session.operations.index("input gradient 1") + 1, "operation")
    said = caption(session, None)
    assert said.why.endswith(f"{does} the direction.")
    assert said.bars is not None and len(said.bars.rows) == 1 and said.bars.total is None


PLACES = {"affine 0": 5, "tanh 0": 5, "affine 1": 2, "sigmoid 1": 2}


def blamed(session: sv.Session) -> float:
    """The gradient at neuron 5."""
    found = session.numbers("affine 1").gradient
    assert found is not None
    return float(found[0, 5])


def test_the_new_number_of_a_step_has_the_digits_of_its_change() -> None:
    network = sv.Network([sv.Dense(1, 1, "linear", bias=False)])
    network.weight(0).value = 2.0
    s = sv.Session(network, ([[2.0]], [[0.0]]), "mse", sv.SGD(0.01), engine="python")
    told = str(advanced(s, len(s.operations), "operation").caption(0))
    assert "moved: 2 → 1.84." in told and "2 - 0.01 × 16 = 1.84" in told


def way(session: sv.Session, row: int) -> str:
    """Where a weight should go by its grad."""
    return "lower" if session.network.bank.grad[row] > 0.0 else "higher"


def test_the_formulas_of_a_step() -> None:
    assert [said.formula for said in walk(rgb(8)).values()] == [
        "every gradient = 0",
        "z = x × w + ... + bias",
        "a = tanh(z)",
        "z = a × w + ... + bias",
        "p = sigmoid(z)",
        "L = mean of (p - t)²",
        "signal = 2 × (p - t) / (8 samples × 3 outputs) × p × (1 - p)",
        "gradient = a × signal",
        "incoming = sum of w × signal",
        "signal = incoming × (1 - a²)",
        "gradient = x × signal",
        "new w = w - lr × gradient",
    ]


@pytest.mark.parametrize(
    ("z", "words"),
    [
        (0.1, "The curve is steep here: most blame passes. Blame −.2 × steepness .99 = −.2"),
        (0.9, "The curve lets some of the blame through. Blame −1.43 × steepness .487 = −.7"),
        (2.0, "The curve is flat here: little blame passes. Blame −1.93 × steepness .0707 = −.136"),
        (0.4, "The curve is steep here: most blame passes. Blame −.76 × steepness .86 = −.65"),
        (30.0, "The curve is level here: no blame gets through."),
    ],
)
def test_a_slope_is_told_as_it_is_here(z: float, words: str) -> None:
    network = sv.Network([1, 1, 1], "tanh", seed=0, dtype="float64")
    network.bank.value[:] = [z, 0.0, 1.0, 0.0]
    s = sv.Session(network, ([[1.0]], [[0.0]]), optimizer=sv.SGD(0.1), engine="python")
    found = walk(s)["delta 0"]
    assert f"{found.title} {found.why}".strip() == words
    assert found.bent is not None and found.bent.slope == pytest.approx(1.0 - np.tanh(z) ** 2)


def test_relu_says_what_became_of_the_sum() -> None:
    network = sv.Network([1, 2, 1], "relu", seed=0, dtype="float64")
    network.bank.value[:2] = 1.0, -1.0
    s = sv.Session(network, ([[1.0]], [[0.0]]), optimizer=sv.SGD(0.1), engine="python")
    s.advance(3, "operation")
    assert caption(s, 0).title.startswith("A positive sum stays: ")
    assert caption(s, 0).numbers[-1] == "The sum of neuron 0 is above 0: relu lets it through."
    assert caption(s, 1).title == "A negative sum becomes 0: the neuron is off."
    assert caption(s, 1).numbers[-1] == "The sum of neuron 1 is not above 0: relu makes it 0."


@pytest.mark.parametrize("batch", [1, 2, 8])
def test_a_gradient_is_that_of_the_sample_and_then_of_the_batch(batch: int) -> None:
    s = rgb(batch)
    s.focus, row = batch - 1, 32 + 9
    told = walk(s, row)["weight gradient 1"]
    grad, found = float(s.network.bank.grad[row]), s.explain(row)
    assert found.products is not None and found.g is not None
    assert f"{said_as(told, found.x[-1])} × {said_as(told, found.g[-1])}" in told.numbers[0]
    (product,) = [piece for piece in told.pieces if piece.row == row]
    assert product.words in told.numbers[0] and " × " in product.words
    assert numbers_in(told.numbers[-1])[-1] == close(grad)
    assert told.numbers[0].startswith("gradient = " if batch == 1 else f"sample {batch - 1}: ")
    more = {1: "", 2: " + 1 more sample (", 8: " + ... 7 more samples ("}[batch]
    assert more in told.numbers[-1] and (" more " in told.numbers[-1]) == bool(more)


def said_as(told: Caption, value: float) -> str:
    """A number as a caption writes it, with as many digits as it needs there."""
    written = [said(value, digits) for digits in range(2, 10)]
    return next(each for each in written if each in NUMBER.findall(told.numbers[0]))


def test_a_neuron_is_followed_as_a_weight_is() -> None:
    s = rgb(8)
    told = {}
    for name in s.operations:
        s.advance(1, "operation")
        told[name] = caption(s, neuron=("tanh 0", 6))
    assert told["affine 0"].neurons[0] == ("affine 0", 6)
    for name in ("tanh 0", "delta 0", "input gradient 1"):
        assert told[name].neurons[0] == ("tanh 0", 6)
    assert told["weight gradient 0"].rows == (18,) == told["step"].rows
    s.advance(2, "operation")
    assert caption(s, neuron=("inputs", 2)).rows == () and "neuron" in caption(s).title
    assert ("inputs", 2) in [piece.neuron for piece in caption(s, neuron=("inputs", 2)).pieces]
    s.advance(2, "operation")
    assert caption(s, neuron=("sigmoid 1", 1)).neurons == (("affine 1", 1),)


def test_at_the_very_start_nothing_is_computed() -> None:
    assert caption(rgb()) == Caption("No step has been done yet.")
    first = walk(rgb())["zero_grad"]
    assert first.why == "The first step begins: no blame yet."
    assert first.numbers == ("The weight from input R to neuron 0: gradient 0",)


# Nothing is moved.


def state(s: sv.Session) -> tuple[Any, ...]:
    bank, timeline = s.network.bank, s.timeline
    kept = [block for block in bank.blocks.values() if block.any()]  # zeros are as good as none
    arrays = [bank.value, bank.grad, bank.frozen, bank.scaling, *kept]
    journals = [[repr(action) for action in branch.journal] for branch in s.branches]
    counts = bank.step_count, bank.has_gradients, repr(timeline.loss), s.losses.tolist()
    return s.clock, [array.tobytes() for array in arrays], journals, counts


@pytest.mark.parametrize("optimizer", [sv.SGD(0.5), sv.Adam(0.01)])
def test_telling_leaves_the_session_where_it_is(optimizer: sv.Optimizer) -> None:
    s, alone = rgb(optimizer=optimizer), rgb(optimizer=optimizer)
    for _ in range(30):
        s.advance(1, "operation")
        alone.advance(1, "operation")
        before = state(s)
        assert caption(s, 7) == caption(s, 7)
        assert state(s) == before == state(alone)
    s.advance(3)
    alone.advance(3)
    assert state(s) == state(alone)


def test_a_sum_whose_weights_were_changed_is_not_claimed() -> None:
    s = advanced(rgb(), 2, "operation")
    s.edit(1, 5.0)
    (line,) = caption(s, 0).numbers
    assert line.endswith("(a weight has changed since)") and "×" not in line


# Other networks, losses and optimizers.


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_ends_at_the_new_value(name: str) -> None:
    s = advanced(rgb(optimizer=sv.Optimizer(name, 0.05, clip_norm=0.01, l2=0.001)), 2)
    told = caption(s, 3)
    slots = OPTIMIZERS[name].slots
    assert [
        line.split(" = ")[0] for line in told.numbers if line.startswith((*slots, "gradient"))
    ] == [
        "gradient used",
        "gradient used",
        *slots,
    ]
    assert numbers_in(told.numbers[0])[-1] == close(float(s.network.bank.value[3]))
    assert told.formula.startswith("new w = w ") and " - lr × " in told.formula
    for arithmetic, result in equations(told):
        assert agrees(value_of(arithmetic), result)


def test_a_step_too_small_for_two_digits_is_seen_all_the_same() -> None:
    s = rgb(optimizer=sv.SGD(1e-4))
    before = float(s.network.bank.value[3])
    s.advance(1)
    old, new = numbers_in(caption(s, 3).title)[-2:]
    assert old == pytest.approx(before, rel=1e-5, abs=1e-7) and old != new
    assert new == pytest.approx(s.network.bank.value[3], rel=1e-5, abs=1e-7)


def test_what_has_no_words_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(captions.CAPTIONS, "loss")
    assert walk(rgb())["loss"] == Caption("Loss.")


def test_a_frozen_weight_stays(s: sv.Session) -> None:
    s.freeze(2)
    s.advance(1)
    assert caption(s, 2).title.startswith(
        "The weight from input B to neuron 0 is frozen: it stays "
    )
    said_of_all = "all unfrozen weights move at once, for all 8 samples together"
    assert said_of_all in caption(s, 1).numbers


@pytest.mark.some(18)
@pytest.mark.parametrize("name", [*LOSSES, *ROW_LOSSES])
@pytest.mark.parametrize("mean", ["all", "samples", "none"])
@pytest.mark.parametrize("batch", [1, 2])
def test_every_loss_is_told(name: str, mean: Any, batch: int) -> None:
    network = sv.Network([3, 4, 3], "tanh", seed=0)
    loss = sv.Loss(name, factor=0.5, mean=mean)
    s = sv.Session(network, data.Rgb(), loss, sv.SGD(0.01), batch=batch, engine="python")
    told = walk(s, 0)
    assert loss.row.error and pretty(loss.row.error) in told["loss"].formula
    assert loss.row.slope and pretty(loss.row.slope) in told["delta 1"].formula
    assert told["loss"].formula.startswith("L = 0.5 × ") and "0.5 × " in told["delta 1"].formula
    upstream = float(s.numbers("affine 1").upstream[0, 0])
    assert numbers_in(told["delta 1"].numbers[0])[-1] == close(upstream)
    assert numbers_in(told["loss"].numbers[-1])[-1] == close(s.loss)
    for said_now in (told["loss"], told["delta 1"]):
        for arithmetic, result in equations(said_now):
            assert agrees(value_of(arithmetic), result)


def as_python(formula: str) -> str:
    """A formula of a row, for Python."""
    formula = re.sub(r"\|([^|]*)\|", r"abs(\1)", formula.replace("e^p", "exp(p)"))
    formula = re.sub(r"(\d|\b[apt]) ([(apt])", r"\1 * \2", formula)
    return formula.replace("^", "**")


NAMES = {
    **{name: row.value for name, row in ACTIVATIONS.items()},
    "exp": np.exp,
    "log": np.log,
    "cos": np.cos,
    "sign": np.sign,
    "clip": np.clip,
}


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "linear"])
def test_every_activation_is_told_and_its_slope_is_the_derivative(name: str) -> None:
    network = sv.Network([3, 4, 3], name, seed=0)
    s = sv.Session(network, data.Rgb(), optimizer=sv.SGD(0.01), batch=2, engine="python")
    told = walk(s)
    held = s.numbers(f"{name} 0")
    unit = told[f"{name} 0"].neurons[0][1]
    z, a = (float(x[0, unit]) for x in (held.inputs, held.outputs))
    assert told[f"{name} 0"].numbers[0].startswith(f"{name}(")
    called, *between, last = told[f"{name} 0"].numbers[0].split(" = ")
    assert [*numbers_in(called), float(last)] == [close(z), close(a)]
    assert all(agrees(value_of(each), last) for each in between)  # its formula
    slope = ACTIVATIONS[name].slope
    if slope and "if" not in slope:
        text, names = as_python(slope), {**NAMES, "a": a, "z": z}
        assert eval(text, names) == pytest.approx(ACTIVATIONS[name].derivative(z, a), rel=1e-6)


# How numbers look.


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.15449, 3, "0.154"),
        (-0.0, 2, "0"),
        (-0.10512, 3, "-0.105"),
        (0.8, 2, "0.8"),
        (1.3, 2, "1.3"),
        (1234.6, 2, "1235"),
        (0.00023, 2, "0.00023"),
        (1.44e-8, 2, "1.4e-8"),
        (9.99e-5, 2, "0.0001"),
        (2e12, 2, "2e12"),
        (-0.5, 2, "-0.5"),
        (0.996, 2, "1"),
        (float("nan"), 2, "nan"),
        (float("-inf"), 2, "-inf"),
    ],
)
def test_numbers_are_those_of_a_pocket_calculator(value: float, digits: int, text: str) -> None:
    assert said(value, digits) == text


def test_two_numbers_get_the_digits_that_tell_them_apart() -> None:
    assert both(0.154, 0.151) == ("0.154", "0.151")
    assert both(0.15401, 0.15402) == ("0.15401", "0.15402")
    assert both(1.0, 1.0) == ("1", "1")


def test_numbers_take_the_place_of_names_only() -> None:
    assert fill("a (1 - a^2) / tan(a)", {"a": "-0.5"}) == "-0.5 × (1 - (-0.5)²) / tan(-0.5)"
    assert fill("-p / (-p)^2 - p", {"p": "-0.3"}) == "-(-0.3) / (-(-0.3))² + 0.3"
    assert fill("sqrt(v) + e^z", {"v": "4"}) == "sqrt(4) + e^z"
    assert fill("log(1 + e^p) - t * p", {"p": "-0.3", "t": "1"}) == "log(1 + e^(-0.3)) - 1 × -0.3"
    assert fill("2 (p - t)", {"p": "0.4", "t": "-0.3"}) == "2 × (0.4 + 0.3)"


def test_operands_get_digits_until_the_result_is_right() -> None:
    def product(v: Sequence[float]) -> float:
        return v[0] * v[1]

    assert agreeing((0.5, 0.5), product, 0.25) == (["0.5", "0.5"], "0.25", True)
    shown, result, _ = agreeing((0.1442, 0.1442), product, 0.1442**2)
    assert shown == ["0.144", "0.144"] and result == "0.021"
    assert agreeing((0.5, 0.5), product, 0.3) == (["0.5", "0.5"], "0.3", False)


def test_a_long_sum_keeps_its_largest_terms_in_their_order() -> None:
    terms = [EquationTerm((float(value),)) for value in (1, -9, 2, 0, 8, 7)] + [
        EquationTerm((5.0,), stays=True)
    ]
    words = "".join(piece.words for piece in sum_line(terms, 14.0))
    assert words == "-9 + 8 + 7 + ... 3 more (3) + 5 = 14"
    words = "".join(piece.words for piece in sum_line(terms, 14.0, keep=3))
    assert words == "-9 + 0 + 8 + ... 3 more (10) + 5 = 14"
    words = "".join(piece.words for piece in sum_line(terms[:4], -6.0))
    assert words == "1 + -9 + 2 + 0 = -6"


# In the session.


def test_a_session_says_what_it_did_last(s: sv.Session) -> None:
    assert str(s.caption()) == "No step has been done yet."
    for _ in s.operations:
        s.advance(1, "operation")
        assert s.caption() == caption(s)
        assert s.caption(s.network.weight(7)) == caption(s, 7) == s.caption(7)
    assert s.caption(7).rows == (7,) and " moved: " in str(s.caption(7))
    lines = str(s.caption(7)).splitlines()
    assert lines == [s.caption(7).title, s.caption(7).formula, *s.caption(7).numbers]


def test_a_caption_of_a_weight_that_there_is_not() -> None:
    refused(ShapeError, "59").by(rgb().caption, 59)


def test_where_there_are_classes_the_right_output_is_told() -> None:
    inputs, targets = np.random.default_rng(0).random((4, 3)), np.eye(5)[[3, 1, 4, 0]]
    network = sv.Network([3, 6, 5], "tanh", seed=0)
    s = sv.Session(network, (inputs, targets), "softmax_cross_entropy", engine="python")
    for sample in range(4):
        s.focus = sample
        told = walk(s)
        right = int(np.argmax(s.trainer.run.targets()[sample]))
        assert told["affine 1"].neurons == (("affine 1", right),)
        assert told["delta 1"].title.startswith(f"{right} got ")
        assert told["delta 1"].title.endswith(" %, not 100 %.")
        assert told["delta 1"].why == f"Too little {right} is to blame."
        shares = told["loss"].bars
        assert shares is not None and shares.unit == "share"
        assert sum(each.value for each in shares.rows[:-1]) == pytest.approx(1.0)
        own = shares.rows[shares.marked]
        assert own.name.startswith(f"{right}: ")
        share, bent = own.value, told["loss"].bent
        assert percent(share) in told["loss"].title
        assert bent is not None and bent.before == share and bent.after == -math.log(share)
        assert all(y == -math.log(x) for x, y in bent.points)
        assert f"probability of output {right}: -log(" in told["loss"].numbers[0]
        blamed = int(np.abs(s.numbers("tanh 0").upstream[sample]).argmax())
        assert told["affine 0"].neurons == (("affine 0", blamed),)
        assert told["input gradient 1"].neurons == (("tanh 0", blamed),)
        assert told["weight gradient 1"].rows == (18 + 6 + 6 * right + blamed,)
        chain = told["weight gradient 0"].rows + told["weight gradient 1"].rows
        assert told["step"].rows == chain


def test_the_first_operation_on_digits_looks_through_a_window_with_contrast(
    digits: sv.Session,
) -> None:
    for sample in range(8):
        digits.focus = sample
        digits.advance(2, "operation")
        told = digits.caption()
        factors = [piece.words.split(" × ")[0] for piece in told.whole[0] if " × " in piece.words]
        assert sum(float(each) != 0.0 for each in factors) >= 3, told
        digits.advance(1, "step")


def test_a_weight_that_is_not_pushed_is_not_the_one_that_is_told(digits: sv.Session) -> None:
    told = walk(digits)
    (row,) = told["weight gradient 4"].rows
    sums = digits.network.program.operations[-1]
    first = sums.weights + (row - sums.weights) // 64 * 64
    grad = np.abs(digits.network.bank.grad[first : first + 64])
    assert grad[0] == 0.0 and grad[row - first] > 0.0
    channel, y, x = np.unravel_index(told["convolution 2"].neurons[0][1], (16, 4, 4))
    assert row - first == np.ravel_multi_index((channel, y // 2, x // 2), (16, 2, 2))


@pytest.mark.parametrize("make", [colours, plane, image, lambda: inverting("cpu")])
def test_a_step_explains_the_weight_that_is_explained_first_on_the_way_back(make: Any) -> None:
    s = make()
    for _ in range(5):
        before = s.network.bank.value.copy()
        told = walk(s)
        first = next(name for name in told if "weight gradient" in name)
        assert told["step"].rows[-1:] == told[first].rows
        explained = list(told["step"].rows)
        assert (s.network.bank.value[explained] != before[explained]).all()
        number = int(first.split()[-1])  # of one neuron, backward as forward
        forward = next(
            name for name in told if name in (f"affine {number}", f"convolution {number}")
        )
        assert told[forward].neurons[0] == told[first].neurons[0]


@pytest.mark.parametrize("make", [colours, plane, lambda: inverting("cpu")])
def test_a_step_says_what_it_makes_of_the_shown_sample(make: Any) -> None:
    s = advanced(make(), 3)
    with s.timeline.at_work():
        inputs, targets = (each[s.focus] for each in s.trainer.batches.at(3))
    before = s.network(inputs[np.newaxis])[0]
    told = walk(s)["step"]
    assert told.outcome is not None
    outputs, off = told.outcome.outputs, told.outcome.off
    after = s.network(inputs[np.newaxis])[0]
    np.testing.assert_allclose([each.before for each in outputs], before, rtol=1e-6)
    np.testing.assert_allclose([each.after for each in outputs], after, rtol=1e-6)
    wanted = [np.abs(each - targets).mean() for each in (before, after)]
    np.testing.assert_allclose(off, wanted, rtol=1e-5)
    names = [each.name for each in outputs]
    assert names == (["R", "G", "B"] if len(before) == 3 else ["OUT"])


def test_a_step_of_a_compiled_function_says_what_it_makes_of_each_output() -> None:
    w, x = sv.Value(0.5), np.random.default_rng(0).random((8, 2))
    function = sv.compile(lambda a, b: (a * w, b * w), inputs=2)
    s = sv.Session(function, (x, 2.0 * x), loss="mse", optimizer=sv.SGD(0.1), batch=4)
    for focus in (0, 3):
        s.focus = focus
        s.advance(1)
        outcome = caption(s).outcome
        assert outcome is not None
        outputs, off = outcome.outputs, outcome.off
        with s.timeline.at_work():
            inputs, targets = (each[focus] for each in s.trainer.batches.at(s.step_index - 1))
        after = s.network(inputs[np.newaxis])[0]
        np.testing.assert_allclose([each.after for each in outputs], after)
        assert off[1] == pytest.approx(np.abs(after - targets).mean())
        s.back(1)
        np.testing.assert_allclose([o.before for o in outputs], s.network(inputs[np.newaxis])[0])


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_step_is_told_after_a_seek_and_after_loading(engine: str, tmp_path: Path) -> None:
    x, y = np.array([[0.0, 1.0], [0.0, -1.0]]), np.eye(2)
    net = sv.Network([2, 3, 2], "relu", seed=0)
    s = sv.Session(net, data.Arrays(x, y), "softmax_cross_entropy", sv.SGD(0.1), engine=engine)
    s.advance(3)
    said = str(s.caption())
    s.save(tmp_path / "it.safetensors")
    s.seek(1), s.caption(), s.seek(3)
    loaded = sv.Session.load(tmp_path / "it.safetensors")
    assert str(s.caption()) == str(loaded.caption()) == said


def test_before_relu_the_sum_that_goes_on_is_told_and_last_what_the_right_class_has_of_it(
    digits: sv.Session,
) -> None:
    before, last = digits.network.bank.value.copy(), digits.network.program.operations[-1]
    told = walk(digits)
    right = int(digits.trainer.run.targets()[digits.focus].argmax())
    weights = before[last.weights + 64 * right :][:64].reshape(16, 2, 2)
    for layer in (2,):
        sums = digits.numbers(f"convolution {layer}").outputs[digits.focus]
        wide = weights.repeat(2, axis=1).repeat(2, axis=2).ravel()
        largest = int((np.maximum(sums, 0.0) * wide).argmax())  # in a window of 2 x 2
        assert told[f"convolution {layer}"].neurons[0][1] == largest
        assert told[f"delta {layer}"].neurons[0][1] == largest
        assert told[f"relu {layer}"].title.startswith("A positive sum")


@pytest.mark.parametrize("sample", [0, 3])
def test_the_neuron_to_which_most_blame_comes_is_explained_forward_and_backward(
    sample: int, s: sv.Session
) -> None:
    s.focus, first = sample, s.network.program.operations[-2]
    weights = s.network.bank.value[first.weights :][: 3 * first.shape[1]].reshape(3, -1).copy()
    told = walk(s)
    blame = s.numbers("tanh 0").upstream[sample]
    most = int(np.abs(blame).argmax())
    ways = s.numbers("affine 1").upstream[sample] * weights[:, most]
    output = int((ways * blame[most]).argmax())
    for layer, unit in enumerate((most, output)):
        name = f"affine {layer}"
        assert told[name].neurons == ((name, unit),)
        assert told[f"delta {layer}"].neurons[0][1] == unit
        operation = next(each for each in s.network.program.operations if each.name == name)
        (row,) = told[f"weight gradient {layer}"].rows
        assert (row - operation.weights) // operation.shape[1] == unit
    assert (row - operation.weights) % operation.shape[1] == most  # it joins both neurons


@pytest.mark.parametrize("make", [colours, plane])
def test_a_caption_has_what_each_sample_of_the_step_asks_for(make: Any) -> None:
    s = advanced(make(), 3)
    told = walk(s)
    group, count = told["loss"].group, len(s.trainer.run.targets())
    assert told["zero_grad"].group == Group((), count, 0)
    assert group is not None and np.mean(group.amounts) == pytest.approx(s.loss, rel=1e-5)
    for name in (name for name in told if "weight gradient" in name):
        (row,), asked = told[name].rows, told[name].group
        assert asked is not None and len(asked.amounts) == count
        assert sum(asked.amounts) == pytest.approx(-s.network.bank.grad[row], rel=1e-4)
    nearer, outcome = told["step"].group, told["step"].outcome
    assert nearer is not None and outcome is not None and len(nearer.amounts) == count
    assert nearer.amounts[nearer.place] == pytest.approx(outcome.off[0] - outcome.off[1], rel=1e-3)
    words = group_words(Group((0.2, -0.1, 0.0, 0.3), 4, 1), ".42")
    assert words.endswith("1 lower. Their mean decides, against the framed bar.")


def test_a_step_says_that_the_batch_decides() -> None:
    for batch, all_, some in (
        (8, ", for all 8 samples together", "all 8 samples"),
        (1, "", "this sample"),
    ):
        s = advanced(rgb(batch), 1)
        together, again = s.caption().numbers[-2:]
        assert together == f"all weights move at once{all_}"
        old, new = again.removeprefix(f"the loss of {some}, computed again: ").split(" → ")
        assert agrees(s.loss, old) and float(new) != float(old)
        assert s.caption().losses == (old, new)


def test_a_number_is_written_alike_wherever_a_caption_has_it() -> None:
    third = 1.0 / 3.0

    def made() -> list[str]:
        shown, total, _ = agreeing([third, -0.33], sum, third - 0.33)
        return [said(third), *shown, total, said(0.5)]

    assert made()[0] == "0.33" and made()[1] == "0.3333"
    assert written_alike(made) == ["0.3333", "0.3333", "-0.33", "0.0033", "0.5"]
    assert made()[0] == "0.33"


def test_a_gradient_that_is_summed_over_two_places_stands_on_the_cube_of_its_weight() -> None:
    net = sv.Network([sv.Conv2d((1, 1, 3), 1, (1, 2)), sv.Dense(2, 1)], seed=0)
    x = np.random.default_rng(0).random((6, 3))
    s = sv.Session(net, (x, x[:, :1]), batch=3, engine="python")
    _, line = walk(s, 0)["weight gradient 0"].lines
    assert line[-1].row == 0 and NUMBER.fullmatch(line[-1].words)


def test_a_negative_number_beside_a_sign_stands_in_brackets() -> None:
    assert (in_brackets("-0.5"), in_brackets("0.5")) == ("(-0.5)", "0.5")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_infinities_are_told(dtype: str, seed: int) -> None:
    network = sv.Network([3, 6, 4], "relu", seed=seed, dtype=dtype)
    network.bank.value[:] *= 0.2 * np.finfo(dtype).max
    pairs = np.random.default_rng(seed).normal(size=(5, 3)), np.ones((5, 4))
    for row in (None, 0, 51):
        s = sv.Session(network.copy(), pairs, optimizer=sv.SGD(0.1), engine="python")
        told = walk(s, row, BEFORE_UPDATE)
        assert all(said.title and said.numbers for said in told.values())
        assert "inf" in str(told["loss"]) or "nan" in str(told["loss"])


def test_a_share_too_small_for_a_number_is_told() -> None:
    network = sv.Network([1, 2], seed=0, dtype="float64")
    network.bank.value[:] = [0.0, 2000.0, 0.0, 0.0]
    s = sv.Session(network, ([[1.0]], [0]), "softmax_cross_entropy", engine="python")
    assert (
        walk(s, count=BEFORE_UPDATE)["loss"].numbers[0] == "probability of output 0: -log(0) ≈ 2000"
    )


@pytest.mark.slow
def test_the_outputs_of_a_large_batch_are_not_gone_through_one_by_one() -> None:
    pairs = np.ones((40, 1)), np.ones((40, 2000))
    s = sv.Session(sv.Network([1, 2000], seed=0), pairs, optimizer=sv.SGD(0.1), engine="python")
    assert walk(s, count=BEFORE_UPDATE)["loss"].numbers[-1].endswith(", over 40 samples")
    s.advance(1, "operation")
    assert "computed again" not in str(caption(s))


class Losses:
    """A branch that knows losses."""

    journal: Sequence[Any] = ()
    actions_at = staticmethod(lambda place: [])

    def __init__(self, losses: list[float]) -> None:
        self.losses = losses

    def losses_between(self, start: int, end: int) -> list[float]:
        return self.losses[start:end]


def reading_of_losses(losses: list[float], verdict: str, writes: bool) -> Any:
    """A reading after so many steps, of data that networks write or not."""
    here = SimpleNamespace(
        clock=Clock(len(losses)), branch=Losses(losses), loss=losses[-1] if losses else float("nan")
    )
    now = SimpleNamespace(data=SimpleNamespace(writes=writes))
    return SimpleNamespace(here=here, now=now, learned=SimpleNamespace(verdict=lambda: verdict))


CHANGES = {
    0.1: "has fallen to a tenth",
    0.3: "has fallen to a quarter",
    0.5: "has halved",
    0.66: "has fallen by a third",
    0.9: "has fallen a little",
    1.0: "has hardly changed",
    1.5: "has risen",
}


def test_the_sentence_is_of_the_numbers_that_are_shown(colours: sv.Session) -> None:
    reading = LiveValues(colours)
    assert progress_in(reading) == "No step has been done yet."
    reading.refresh()
    assert progress_in(reading) == "Step 0: off by .38."  # of the pair that is shown
    for step in range(4, 240, 4):
        colours.advance(4)
        reading.refresh()
        half = step // 2
        since = half if half < 10 else half // 10 * 10 if half < 100 else 100
        assert reading.learned is not None
        start = f"Step {step}: {reading.learned.verdict()}; the "
        assert progress_in(reading).startswith(start)
        assert progress_in(reading).endswith(f" since step {since}.")


def test_losses_from_before_a_change_are_not_compared(colours: sv.Session) -> None:
    colours.advance(300)
    colours.edit(3, 9.0)
    colours.learning_rate = 0.2
    reading = LiveValues(colours)
    for step, since in ((300, None), (301, None), (302, 301), (306, 303), (330, 310)):
        colours.advance(step - colours.step_index)
        reading.refresh()
        found = progress_in(reading)
        assert found.endswith(f" since step {since}." if since else reading.learned.verdict() + ".")
    colours.seek(300)
    reading.refresh()
    assert progress_in(reading).endswith(" since step 100.")


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize("verdict", ["3 of 4 right", ""])
def test_it_says_how_the_loss_has_changed_and_a_page_says_the_same(
    verdict: str, is_alone: bool, colours: sv.Session
) -> None:
    runs = [[1.0] * 50 + [change] * 50 for change in CHANGES]
    runs += [[0.5], [], [0.5, float("nan")], [0.0, 0.0], [0.123456] * 2500]
    said = [progress_in(reading_of_losses(losses, verdict, is_alone)) for losses in runs]
    own, one = (
        ("the loss of this step alone is {}", "the mean") if is_alone else ("the loss is {}", "it")
    )
    start = verdict or own
    for words, (change, how) in zip(said, CHANGES.items(), strict=False):
        it = "the loss" if verdict else one
        assert words == f"Step 100: {start.format(f'{change:.3g}')}; {it} {how} since step 50."
    assert said[len(CHANGES)] == f"Step 1: {start.format(0.5)}."
    assert said[-1].startswith("Step 2,500: ") and said[-1].endswith(" since step 1,000.")
    spec = spec_of(colours)
    body = """
        setTexts(data.spec.texts);
        return data.runs.map((each) => {
            const [losses, known] = [new LossRecord(), each.map(Number)];
            losses.write(0, known);
            const state = { step: known.length, loss: known.at(-1) ?? NaN };
            return progressOf(state, losses, data.verdict, data.isAlone);
        });
    """
    given = [[str(loss) if loss != loss else loss for loss in losses] for losses in runs]
    found = {"spec": spec, "runs": given, "verdict": verdict, "isAlone": is_alone}
    assert in_web("captions loss_record texts", body, **found) == said


def xor(outputs: int = 1, loss: str = "mse") -> sv.Session:
    net = sv.Network([2, 3, outputs], "tanh", seed=0)
    inputs = [[0, 0], [0, 1], [1, 0], [1, 1]]
    targets = [[float(i == j % 2) for j in range(outputs)] for i in (1, 0, 0, 1)]
    return sv.Session(net, (inputs, targets), loss, sv.SGD(0.5), engine="python")


def reading_of(session: sv.Session) -> LiveValues:
    reading = LiveValues(session)
    reading.refresh()
    return reading


@pytest.mark.parametrize("outputs", [1, 3, 6])
def test_it_says_how_far_the_output_is_off(outputs: int) -> None:
    session = xor(outputs)
    session.focus = 2
    session.advance(session.operations.index("loss") + 1, "operation")
    words = tour_caption("error", *reading_of(session).moment(0)).title
    inputs, targets = session.trainer.batches.at(0)
    off = np.abs(session.network(inputs)[2] - targets[2]).max()
    if outputs > 4:
        assert words.endswith(f"the loss is {said(session.loss)}.")
    else:
        assert f" {said(float(off))} " in words


def test_it_says_what_runs_in(colours: sv.Session) -> None:
    digits = sv.Session(sv.Network([64, 10], seed=0), data.Digits(), engine="python")
    said = [
        tour_caption("forward", *reading_of(s).moment(0)).title.split()[1]
        for s in (colours, digits, xor())
    ]
    assert said == ["colour", "picture", "sample"]


def test_the_picture_says_one_sentence_a_part(colours: sv.Session) -> None:
    stage, words = Stage(colours), []
    colours.advance(6, "operation")
    for part in (*Tour([each.kind for each in colours.timeline.here.moments]).ends, "faster", ""):
        stage.part_of_tour = part
        caption = stage.frame_data().words.caption
        assert caption is not None
        words.append(caption.title)
        assert bool(caption.formula) == (part == "")
    assert len(set(words)) == len(words) == 7
    assert all(len(each) < 72 for each in words[:6]), "they stand in one line"


def test_the_way_of_a_neuron_goes_on_where_its_branch_is_joined() -> None:
    branches = sv.Dense(3, 2, "tanh"), [sv.Dense(3, 4, "tanh"), sv.Dense(4, 4)]
    net = sv.Network([sv.Concatenate(*branches), sv.Dense(6, 2)], seed=0)
    facts = facts_of(sv.Session(net, (np.zeros((5, 3)), np.zeros((5, 2))), engine="python"))
    path = path_of_neuron(facts, ("affine 0.1", 1))  # the first layer of the second branch
    assert path[-2:] == [(3, 1), (1, 3)]  # behind the two of the first one


def test_the_slowest_wave_of_an_encoding_has_no_factor() -> None:
    net = sv.Network([sv.FrequencyEncoding(1, 2), sv.Dense(4, 1)], seed=0)
    s = advanced(sv.Session(net, ([[0.25]], [[0.0]]), engine="python"), 2, "operation")
    assert s.caption().numbers[0] == "sin(π × 0.25) = 0.71"


@pytest.mark.parametrize(
    ("other", "relative", "absolute", "found"),
    [
        (3.5, 0.0, 0.5, True),
        (3.5, 0.1, 0.0, False),
        (3.5, 0.25, 0.0, True),
        (np.inf, 1.0, 9.0, False),
    ],
)
def test_two_numbers_are_close_up_to_their_tolerance(
    other: float, relative: float, absolute: float, found: bool
) -> None:
    assert is_close(3.0, other, relative, absolute) == is_close(other, 3.0, relative, absolute)
    assert is_close(3.0, other, relative, absolute) == found
