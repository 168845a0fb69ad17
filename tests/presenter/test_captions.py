"""Captions of each operation, against the same arithmetic in numpy."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS
from scalarviz.presenter.captions import moments
from scalarviz.presenter.captions.format import both, chosen, fill, said
from scalarviz.presenter.captions.moments import caption
from scalarviz.presenter.traced_weight import path
from scalarviz.session.caption import Caption
from scalarviz.texts import texts

Array = npt.NDArray[np.float64]
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")


def rgb(batch: int = 8, optimizer: sv.Optimizer | None = None, **options: Any) -> sv.Session:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
    optimizer = optimizer or sv.SGD(0.5)
    return sv.Session(
        network, data.Rgb(), optimizer=optimizer, batch=batch, engine="python", **options
    )


def walk(session: sv.Session, row: int | None = None) -> dict[str, Caption]:
    """What is said after each operation of the next step."""
    told = {}
    for name in session.operations:
        session.advance(1, "operation")
        told[name] = caption(session, row)
    return told


def numbers_in(line: str) -> list[float]:
    """The numbers of a line, with a minus before a term as its sign."""
    return [float(found) for found in NUMBER.findall(line.replace("- ", "+ -"))]


def close(value: float) -> Any:
    """As near as three digits are."""
    return pytest.approx(float(value), rel=6e-3, abs=1e-12)


class Step:
    """One step of a 3-8-3 network of tanh and sigmoid with mse, by hand."""

    def __init__(self, session: sv.Session) -> None:
        value = session.network.bank.value.astype(np.float64)
        self.inputs, self.targets = session.timeline.trainer.batches.at(session.step_index)
        self.w1, self.b1 = value[:24].reshape(8, 3), value[24:32]
        self.w2, self.b2 = value[32:56].reshape(3, 8), value[56:59]
        self.z1 = self.inputs @ self.w1.T + self.b1
        self.a1 = np.tanh(self.z1)
        self.z2 = self.a1 @ self.w2.T + self.b2
        self.p = 1.0 / (1.0 + np.exp(-self.z2))
        self.upstream = 2.0 * (self.p - self.targets) / self.p.size
        self.delta2 = self.upstream * self.p * (1.0 - self.p)
        self.g = self.delta2 @ self.w2
        self.delta1 = self.g * (1.0 - self.a1**2)

    @property
    def loss(self) -> float:
        return float(np.mean((self.p - self.targets) ** 2))


# The whole of a step.


@pytest.mark.parametrize("batch", [1, 8])
def test_every_operation_is_told_with_its_real_numbers(batch: int) -> None:
    s = rgb(batch)
    s.advance(2)
    s.focus = batch // 2
    by_hand, f, row = Step(s), s.focus, 3 * 5 + 1  # perceptron 5, weight from input 1
    old_gradient = float(s.network.bank.grad[row])
    told = walk(s, row)

    def line(operation: str, place: int = 0) -> str:
        return told[operation].numbers[place]

    assert told["zero_grad"].title == texts()["captions.zero_grad.title"]
    assert told["zero_grad"].formula == "grad = 0"
    assert numbers_in(line("zero_grad"))[-2:] == [close(old_gradient), 0.0]

    assert told["affine 0"].formula == "z = w x + ... + b"
    terms = [x for pair in zip(by_hand.w1[5], by_hand.inputs[f], strict=True) for x in pair]
    wanted = [5, *terms, by_hand.b1[5], by_hand.z1[f, 5]]
    assert numbers_in(line("affine 0")) == list(map(close, wanted))

    assert told["tanh 0"].formula == "a = tanh(z)"
    wanted = [5, by_hand.z1[f, 5], by_hand.a1[f, 5]]
    assert numbers_in(line("tanh 0")) == list(map(close, wanted))

    assert told["affine 1"].formula == "z = w a + ... + b"
    assert "... 5 more" in line("affine 1")
    assert f"{said(by_hand.w2[5 % 3, 5])} * {said(by_hand.a1[f, 5])}" in line("affine 1")
    assert numbers_in(line("affine 1"))[-1] == close(by_hand.z2[f, 2])

    assert told["sigmoid 1"].title == "The prediction, beside the target."
    assert numbers_in(line("sigmoid 1", 1)) == list(map(close, by_hand.p[f]))
    assert numbers_in(line("sigmoid 1", 2)) == list(map(close, by_hand.targets[f]))

    assert told["loss"].formula == "L = mean (p - t)^2"
    assert numbers_in(line("loss", 1))[0] == close(by_hand.loss)
    errors = (by_hand.p[f] - by_hand.targets[f]) ** 2
    found = [float(text) for text in re.findall(r"\^2 = ([\d.e-]+)", line("loss"))]
    assert found == list(map(close, errors))

    assert told["delta 1"].formula == f"delta = 2 (p - t) / {3 * batch} * p (1 - p)"
    assert numbers_in(line("delta 1", 0))[-1] == close(by_hand.upstream[f, 2])
    assert numbers_in(line("delta 1", 1))[-1] == close(by_hand.delta2[f, 2])

    assert told["weight gradient 1"].formula == "grad += delta * a"
    gradient = float(by_hand.delta2[:, 2] @ by_hand.a1[:, 5])
    assert line("weight gradient 1") == "layer 1, perceptron 2, weight from input 5"
    assert numbers_in(line("weight gradient 1", 1))[-1] == close(gradient)

    assert told["input gradient 1"].title == texts()["captions.weighted_back.sum.title"]
    assert told["input gradient 1"].formula == "g = sum of w * delta"
    wanted = [5]
    for j in range(3):
        wanted += [by_hand.w2[j, 5], by_hand.delta2[f, j]]
    assert numbers_in(line("input gradient 1")) == list(map(close, [*wanted, by_hand.g[f, 5]]))

    assert told["delta 0"].formula == "delta = g (1 - a^2)"
    assert numbers_in(line("delta 0"))[-1] == close(by_hand.delta1[f, 5])

    assert told["weight gradient 0"].formula == "grad += delta * x"
    assert told["weight gradient 0"].title == texts()["captions.weight_gradient.first"]
    gradient = float(by_hand.delta1[:, 5] @ by_hand.inputs[:, 1])
    assert numbers_in(line("weight gradient 0", 1))[-1] == close(gradient)

    assert told["step"].formula == "w - lr * grad = new w"
    w = by_hand.w1[5, 1]
    wanted = [w, -0.5, gradient, w - 0.5 * gradient]
    assert numbers_in(line("step"))[-4:] == list(map(close, wanted))
    again = Step(s)
    again.inputs, again.targets = by_hand.inputs, by_hand.targets
    after = np.tanh(by_hand.inputs @ again.w1.T + again.b1) @ again.w2.T + again.b2
    loss = np.mean((1.0 / (1.0 + np.exp(-after)) - by_hand.targets) ** 2)
    assert line("step", 1).startswith("the loss computed again: ")
    assert numbers_in(line("step", 1)) == [close(by_hand.loss), close(float(loss))]
    assert numbers_in(line("step", 1))[1] < numbers_in(line("step", 1))[0]


@pytest.mark.parametrize("batch", [1, 2, 8])
def test_a_gradient_shows_three_terms_and_how_many_more(batch: int) -> None:
    s = rgb(batch)
    row = 32 + 9
    for name in s.operations:
        s.advance(1, "operation")
        if name != "weight gradient 1":
            continue
        told, grad = s.explain(row), float(s.network.bank.grad[row])
        assert told.products is not None and told.g is not None
        assert float(told.products.sum()) == pytest.approx(grad, rel=1e-6)
        (_, line) = caption(s, row).numbers
        terms = [f"{said(g)} * {said(x)}" for g, x in zip(told.g, told.x, strict=True)][:3]
        more = [f"... {batch - 3} more"] * (batch > 3)
        wanted = " + ".join([*terms, *more]).replace("+ -", "- ")
        assert line == f"grad = {wanted} = {said(grad)}"


def test_the_term_of_the_focus_sample_and_that_of_the_followed_weight_are_shown() -> None:
    s = rgb(8)
    s.focus = 6
    told = walk(s, 32 + 8 + 5)  # perceptron 1 of the outputs, weight from input 5
    w = s.network.bank
    s.back(1)
    first = f"{said(float(w.value[45]))} * "
    assert first in told["affine 1"].numbers[0]
    s.advance(len(s.operations) - 1, "operation")
    numbers = s.explain(45)
    assert numbers.g is not None
    term = f"{said(numbers.g[6])} * {said(numbers.x[6])}".removeprefix("-")
    assert f"{term} + ... 5 more" in told["weight gradient 1"].numbers[1]


def test_at_the_very_start_nothing_is_computed() -> None:
    assert caption(rgb()) == Caption("Each cube is one weight.")
    first = walk(rgb())["zero_grad"]
    assert first.numbers == ("grad = 0 already: this is the first step",)


def test_without_a_weight_the_first_one_is_followed() -> None:
    assert walk(rgb()) == walk(rgb(), 0)


def test_the_path_of_a_weight_leads_through_both_of_its_ends() -> None:
    program = rgb().network.program
    assert path(program, 3 * 7 + 2) == [(7, 2), (7, 7), (1, 7), (1, 1)]
    assert path(program, 24 + 7) == [(7, 0), (7, 7), (1, 7), (1, 1)]
    assert path(program, 32 + 2 * 8 + 6) == [(6, 0), (6, 6), (2, 6), (2, 2)]


# Nothing is moved.


def state(s: sv.Session) -> tuple[Any, ...]:
    bank, timeline = s.network.bank, s.timeline
    kept = [block for block in bank.blocks.values() if block.any()]  # zeros are as good as none
    arrays = [bank.value, bank.grad, bank.frozen, bank.scaling, *kept]
    journals = [[str(action) for action in branch.journal] for branch in s.branches]
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


def test_telling_does_not_undo_edits_and_starts_no_branch() -> None:
    s = rgb()
    s.advance(4)
    s.edit(0, 0.25)
    s.learning_rate = 0.125
    before = state(s)
    caption(s, 0)
    assert state(s) == before and len(s.branches) == 1
    s.advance(1, "operation")
    s.edit(3, 0.5)
    before = state(s)
    caption(s, 3)
    assert state(s) == before and len(s.branches) == 1


def test_in_the_past_the_future_stays() -> None:
    s = rgb()
    s.advance(6)
    s.back(3)
    caption(s)
    s.advance(1, "operation")
    caption(s)
    assert len(s.branches) == 1 and s.current_branch.end.step == 6


def test_after_an_edit_no_loss_is_computed_again() -> None:
    s = rgb()
    s.advance(1)
    s.learning_rate = 0.25
    assert "the loss computed again" in caption(s).numbers[-1]
    assert "* 0.5" not in caption(s).numbers[0] and " 0.5 * " in caption(s).numbers[0]
    s.edit(0, 3.0)
    assert not any("again" in line for line in caption(s).numbers)


def test_a_sum_whose_weights_were_changed_is_not_claimed() -> None:
    s = rgb()
    s.advance(2, "operation")
    s.edit(1, 5.0)
    (line,) = caption(s, 0).numbers
    assert line.endswith("(a weight was changed since)") and "*" not in line


# Other networks, losses and optimizers.


def test_adam_tells_what_it_keeps() -> None:
    s = rgb(optimizer=sv.Adam(0.01))
    s.advance(3)
    told = walk(s, 4)["step"]
    assert told.formula == "w - lr * (m / correction1) / (sqrt(v / correction2) + eps) = new w"
    m, v = (float(s.network.bank.slots[name][4]) for name in ("m", "v"))
    grad = float(s.network.bank.grad[4])
    assert told.numbers[0] == f"grad = {said(grad)}, m = {said(m)}, v = {said(v)}"
    moved = f"0.01 * ({said(m)} / {said(1 - 0.9**4)}) / (sqrt({said(v)} / {said(1 - 0.999**4)})"
    assert moved.replace(")", "") in told.numbers[1].replace(")", "")
    assert numbers_in(told.numbers[1])[-1] == close(float(s.network.bank.value[4]))
    assert told.numbers[2].startswith("the loss computed again")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_ends_at_the_new_value(name: str) -> None:
    s = rgb(optimizer=sv.Optimizer(name, 0.05, clip_norm=0.01, l2=0.001))
    s.advance(2)
    told = caption(s, 3)
    assert len(told.numbers) == 3 and "g = " in told.numbers[0]
    assert numbers_in(told.numbers[1])[-1] == close(float(s.network.bank.value[3]))
    assert told.formula.endswith(" = new w") and "grad" not in told.formula


def test_decay_moves_a_weight_before_its_gradient_does() -> None:
    s = rgb(optimizer=sv.AdamW(0.5, decay=0.5))
    s.advance(1)
    before = float(s.network.bank.value[3])
    s.advance(1)
    kept, moved, _ = caption(s, 3).numbers
    assert f"w after decay = {said(before * 0.75)}, m = " in kept
    assert f": {said(before * 0.75)} - 0.5 * (" in moved


def test_a_step_too_small_for_three_digits_is_seen_all_the_same() -> None:
    s = rgb(optimizer=sv.SGD(1e-4))
    before = float(s.network.bank.value[3])
    s.advance(1)
    line = caption(s, 3).numbers[0].partition(": ")[2]
    old, new = re.split(r" [-+] | = ", line)[0], line.rpartition("= ")[2]
    assert float(old) == pytest.approx(before, rel=1e-6, abs=1e-8) and old != new
    assert float(new) == pytest.approx(s.network.bank.value[3], rel=1e-6, abs=1e-8)


def test_what_has_no_words_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(moments.TELLERS, "loss")
    assert walk(rgb())["loss"] == Caption("Loss.")


def test_a_frozen_weight_stays() -> None:
    s = rgb()
    s.freeze(2)
    s.advance(1)
    assert "frozen and stays" in caption(s, 2).numbers[0]


def test_a_norm_and_an_encoding_are_told() -> None:
    layers = [sv.FrequencyEncoding(3, 2), sv.Dense(12, 4, "relu"), sv.LayerNorm(4)]
    network = sv.Network([*layers, sv.RMSNorm(4), sv.Dense(4, 3)], seed=0)
    s = sv.Session(network, data.Rgb(), optimizer=sv.SGD(0.1), batch=4, engine="python")
    told, trainer = {}, s.timeline.trainer
    for name in s.operations:
        s.advance(1, "operation")
        told[name] = caption(s)
        if name == "layer_norm 2":
            x, y = trainer.run.values(network.program.operations[3].source)[0], s.numbers(name)
            assert y.outputs is not None
            wanted = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
            assert y.outputs[0] == pytest.approx(wanted, rel=1e-5, abs=1e-6)
            left, right = told[name].numbers[0].split(" -> ")
            assert numbers_in(left)[:3] == list(map(close, x[:3]))
            assert numbers_in(right)[:3] == list(map(close, wanted[:3]))
    inputs, _ = trainer.batches.at(0)
    waves = numbers_in(told["frequency_encoding 0"].numbers[0].split(" -> ")[1])
    assert (
        waves[0] == close(np.sin(np.pi * inputs[0, 0]))
        and "9 more" in told["frequency_encoding 0"].numbers[0]
    )
    assert told["scale 2"].formula == "y = w x + b" and told["scale 3"].formula == "y = w x"
    gain, x0, *shift, y0 = numbers_in(told["scale 2"].numbers[0])[1:]
    assert y0 == close(gain * x0 + sum(shift))
    assert told["weight gradient 2"].numbers[0] == "layer 2, gain of feature 0"
    assert told["input gradient 2"].formula == "g = w * delta"
    assert "->" in told["layer_norm gradient 2"].numbers[0]
    assert "not needed" in told["weight gradient 1"].title
    assert told["affine 4"].formula == "p = w a + ... + b" and len(told["affine 4"].numbers) == 3
    assert told["delta 4"].formula == "delta = 2 (p - t) / 12"


@pytest.mark.parametrize("name", [*LOSSES, *ROW_LOSSES])
@pytest.mark.parametrize("mean", ["all", "samples", "none"])
def test_every_loss_is_told(name: str, mean: Any) -> None:
    network = sv.Network([3, 4, 3], "tanh", seed=0)
    loss = sv.Loss(name, factor=0.5, mean=mean)
    s = sv.Session(network, data.Rgb(), loss, sv.SGD(0.01), batch=2, engine="python")
    told = walk(s)
    assert loss.row.error in told["loss"].formula and loss.row.error
    assert loss.row.slope in told["delta 1"].formula and loss.row.slope
    assert told["loss"].formula.startswith("L = 0.5 * ") and "0.5 * " in told["delta 1"].formula
    upstream = float(s.numbers("affine 1").upstream[0, 0])
    assert numbers_in(told["delta 1"].numbers[0])[-1] == close(upstream)
    if name in LOSSES:
        row, (p, t) = LOSSES[name], (s.numbers("affine 1").outputs[0], s.timeline.trainer.run)
        value = row.value(p[0], t.targets()[0, 0]) * row.weight(p[0], t.targets()[0, 0])
        assert f" = {said(value)}" in told["loss"].numbers[0]


def as_python(formula: str) -> str:
    """A formula of a caption, for Python."""
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


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("p", "t"), [(0.75, 0.25), (-0.3, 1.2)])
def test_the_words_for_a_loss_are_its_formula(name: str, p: float, t: float) -> None:
    row = LOSSES[name]
    error, derivative = as_python(row.error), as_python(row.slope)
    names = {**NAMES, "p": p, "t": t, "huber": lambda e: row.value(e, 0.0)}
    assert eval(error, names) == pytest.approx(row.value(p, t) * row.weight(p, t))
    assert eval(derivative, names) == pytest.approx(row.derivative(p, t) * row.weight(p, t))


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "linear"])
def test_every_activation_is_told_and_its_slope_is_the_derivative(name: str) -> None:
    network = sv.Network([3, 4, 3], name, seed=0)
    s = sv.Session(network, data.Rgb(), optimizer=sv.SGD(0.01), batch=2, engine="python")
    told = walk(s)
    z, a = (float(x[0, 0]) for x in (s.numbers(f"{name} 0").inputs, s.numbers(f"{name} 0").outputs))
    assert f"{name}({said(z)}) = {said(a)}" in told[f"{name} 0"].numbers[0]
    slope = ACTIVATIONS[name].slope
    if slope and "if" not in slope:
        text, names = as_python(slope), {**NAMES, "a": a, "z": z}
        assert eval(text, names) == pytest.approx(ACTIVATIONS[name].derivative(z, a), rel=1e-6)


def test_an_expression_is_told_in_five_phases() -> None:
    slope, shift = sv.Value(2.0, label="slope"), sv.Value(0.5)
    line = sv.compile(lambda x: slope * x + shift, inputs=1, engine="python")
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [2.5]])
    s = sv.Session(line, (x, y), optimizer=sv.SGD(0.1), engine="python")
    s.advance(1)
    w, b = slope.data, shift.data
    row = line.find_rows(slope)
    s.focus = 1
    told = walk(s, int(row))
    assert list(told) == ["zero_grad", "forward", "loss", "backward", "step"]
    picked = s.timeline.trainer.batches.at(1)
    inputs, targets = picked[0][:, 0], picked[1][:, 0]
    p = w * inputs + b
    wanted = [1, inputs[1], p[1]]
    assert numbers_in(told["forward"].numbers[0]) == list(map(close, wanted))
    assert numbers_in(told["loss"].numbers[1])[0] == close(np.mean((p - targets) ** 2))
    gradient = float(np.mean(2.0 * (p - targets) * inputs))
    assert told["backward"].numbers[0].startswith("slope: grad = ")
    assert numbers_in(told["backward"].numbers[0]) == [close(gradient)]
    assert told["step"].numbers[0].startswith("slope: ")
    assert numbers_in(told["step"].numbers[0])[-1] == close(slope.data)
    assert len({caption.title for caption in told.values()}) == 5


def test_without_weights_and_without_words_something_is_said() -> None:
    network = sv.Network([sv.FrequencyEncoding(3, 2)])
    nothing = np.zeros((4, 3)), np.zeros((4, 12))
    s = sv.Session(network, nothing, batch=2, engine="python")
    for told in walk(s).values():
        assert told.title.endswith((".", "?"))


# How numbers look.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.15449, "0.154"),
        (-0.0, "0"),
        (-1e-320 * 0, "0"),
        (1234.5, "1230"),
        (1.44e-8, "1.44e-8"),
        (2e12, "2e12"),
        (-0.5, "-0.5"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_numbers_have_three_digits_and_no_minus_zero(value: float, text: str) -> None:
    assert said(value) == text


def test_two_numbers_get_the_digits_that_tell_them_apart() -> None:
    assert both(0.154, 0.151) == ("0.154", "0.151")
    assert both(0.15401, 0.15402) == ("0.15401", "0.15402")
    assert both(1.0, 1.0) == ("1", "1")


def test_numbers_take_the_place_of_names_only() -> None:
    assert fill("a (1 - a^2) / tan(a)", a=-0.5) == "-0.5 (1 - (-0.5)^2) / tan(-0.5)"
    assert fill("sqrt(v) + e^z", v=4.0) == "sqrt(4) + e^z"


def test_a_long_formula_keeps_the_term_that_matters() -> None:
    assert chosen(2) == [0, 1] and chosen(9) == [0, 1, 2] and chosen(9, keep=7) == [0, 1, 7]
    assert all(a < b for a, b in pairwise(chosen(9, keep=3)))
