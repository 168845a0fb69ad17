"""Cards of pinned weights, neurons and nodes.

Recomputed in numpy, and by a calculator from what is written.
"""

import math
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.metric_formulas import predictions_of
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES, OptimizerRow
from scalarviz.scene.frame_data import History
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.narration import moment_of, node_card
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Card, CardLine, CardTable
from scalarviz.story.cards import neuron_card, numbers_of
from scalarviz.story.equations import ProductRow, change_between, largest_first, product_table
from scalarviz.story.traced_weight import read_answers
from scalarviz.story.weight_card import blocks_about
from scalarviz.training.session.reading import facts_of, state_of
from tests.sessions import advanced
from tests.story.caption_reader import card_of
from tests.studio import Studio

OF_CARDS = {
    "sgd": sv.SGD(0.5),
    "momentum": sv.Momentum(0.1, 0.8),
    "nesterov": sv.Nesterov(0.1, 0.8),
    "rmsprop": sv.RMSProp(0.01),
    "adam": sv.Adam(0.01),
    "adamw": sv.AdamW(0.01, decay=0.1),
    "decay": sv.SGD(0.5, l1=0.001, l2=0.01),
    "clip value": sv.SGD(0.5, clip_value=0.002),
    "clip norm": sv.Adam(0.01, clip_norm=0.01, l2=0.01),
    "schedule": sv.SGD(0.5, schedule=sv.Schedule("cosine", steps=50)),
}
ROWS = (0, 5, 13, 23, 24, 30, 33, 50, 56, 58)


def rgb(optimizer: sv.Optimizer | None = None, batch: int = 8, **options: Any) -> sv.Session:
    options = {"engine": "python", **options}
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0, dtype="float64")
    optimizer = optimizer or sv.SGD(0.5)
    return sv.Session(network, data.Rgb(), optimizer=optimizer, batch=batch, **options)


def lines_of(card: Card, look: str = "plain") -> list[str]:
    return [each.words for each in card.blocks if isinstance(each, CardLine) and each.look == look]


def table_of(card: Card) -> CardTable:
    (table,) = [each for each in card.blocks if isinstance(each, CardTable)]
    return table


def last_place(number: str) -> float:
    """What a 1 in the last digit is worth."""
    digits, _, power = number.partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def calculate(formula: str) -> float:
    """What a pocket calculator makes of a formula as it is written."""
    formula = formula.replace("×", "*").replace("^", "**").replace("²", "**2")
    known = {
        "sqrt": math.sqrt,
        "sign": lambda x: float(np.sign(x)),
        "clip": lambda x, low, high: max(low, min(high, x)),
    }
    return float(eval(formula, {"__builtins__": {}}, known))


def assert_calculates(line: str) -> None:
    """A line such as "new w = 0.5 - 0.1 × 0.2 = 0.48" is right as it is written."""
    _, formula, result = line.split(" = ")
    assert abs(calculate(formula) - float(result)) < 0.51 * last_place(result), line


class ByHand:
    """The last step of a 3-8-3 network of tanh and sigmoid with mse, from weights in numpy."""

    def __init__(self, value: np.ndarray, inputs: np.ndarray, targets: np.ndarray) -> None:
        w1, b1 = value[:24].reshape(8, 3), value[24:32]
        w2, b2 = value[32:56].reshape(3, 8), value[56:59]
        hidden = np.tanh(inputs @ w1.T + b1)
        out = 1.0 / (1.0 + np.exp(-(hidden @ w2.T + b2)))
        delta2 = 2.0 * (out - targets) / out.size * out * (1.0 - out)
        delta1 = delta2 @ w2 * (1.0 - hidden**2)
        ones = np.ones(len(inputs))
        self.x = [inputs[:, i % 3] for i in range(24)] + [ones] * 8
        self.x += [hidden[:, i % 8] for i in range(24)] + [ones] * 3
        self.delta = [delta1[:, i // 3] for i in range(24)] + [delta1[:, i] for i in range(8)]
        self.delta += [delta2[:, i // 8] for i in range(24)] + [delta2[:, i] for i in range(3)]
        self.grad = np.array([x @ d for x, d in zip(self.x, self.delta, strict=True)])


def by_hand(session: sv.Session) -> ByHand:
    """The last step of a session, which goes back one step and on again."""
    session.back(1)
    value = session.network.bank.value.copy()
    inputs, targets = session.trainer.batches.at(session.step_index)
    session.advance(1)
    return ByHand(value, inputs.astype(float), targets.astype(float))


@pytest.mark.some(1)
@pytest.mark.parametrize("name", OF_CARDS)
def test_a_card_has_the_numbers_of_the_step_and_a_calculator_agrees(name: str) -> None:
    session = advanced(rgb(OF_CARDS[name]), 22)
    before = session.network.bank.value.copy()
    session.advance(1)
    step = by_hand(session)
    for row in ROWS:
        card = card_of(session, row)
        table = table_of(card)
        for sample, x, delta, _ in table.rows:
            assert float(x) == pytest.approx(step.x[row][int(sample)], rel=0.06)
            assert float(delta) == pytest.approx(step.delta[row][int(sample)], rel=0.06)
        assert_adds_up(table, step.grad[row])
        (change,) = lines_of(card, "large")
        old, new = map(float, change.split(" → "))
        assert abs(old - before[row]) < 0.51 * last_place(change.split(" → ")[0])
        assert abs(new - session.network.bank.value[row]) < 0.51 * last_place(change.split()[-1])
        formulas = [line for line in lines_of(card) if " = " in line]
        for line in formulas:
            assert_calculates(line)
        assert formulas[-1].startswith("new w = ") and float(formulas[-1].split()[-1]) == new


def test_one_sentence_says_why_it_changed() -> None:
    session = advanced(rgb(), 20)
    step, f = by_hand(session), session.focus
    words = lines_of(card_of(session, 5))[0]
    push = session.network.bank.value[5] - (session.back(1), session.network.bank.value[5])[1]
    numbers = re.findall(r"-?[\d.]*\d(?:e-?\d+)?", words)
    name = f"In sample {f}: Input B sent"
    assert words.startswith(name) and "the signal of neuron 1 was " in words
    _, x, _, delta, samples, grad, number, by = map(float, numbers)
    assert (samples, number) == (8, 20)
    wanted = step.x[5][f], step.delta[5][f], step.grad[5], abs(push)
    assert (x, delta, grad, by) == pytest.approx(wanted, rel=0.06)
    assert ("down" in words) == (push < 0.0)


def test_a_weight_that_no_step_has_moved_says_what_it_does() -> None:
    session = rgb()
    facts, state = facts_of(session), state_of(session)
    state = replace(state, values={facts.inputs: np.array([0.5, 0.25, 0.125])})
    for row, start in ((5, "Input B sent 0.125. "), (30, "A bias always sends 1. ")):
        _, line = blocks_about(facts, state, row)
        assert isinstance(line, CardLine) and line.words.startswith(start)
        assert_calculates(f"y = {line.words.removeprefix(start)}")


def test_after_an_edit_the_card_says_so_and_not_the_step_before() -> None:
    session = advanced(rgb(), 3)
    old = session.network.bank.value[5]
    session.edit(5, 0.25)
    session.edit(5, 1.5)
    card = card_of(session, 5)
    assert lines_of(card, "large") == [f"edited: {change_between(old, 1.5)[0]} → 1.5"]
    assert not [each for each in card.blocks if isinstance(each, CardTable)]
    assert lines_of(card_of(session, 6), "large")[0].count("edited") == 0
    session.advance(2, "operation")
    assert lines_of(card_of(session, 5), "large") == lines_of(card, "large")
    session.edit(5, 2.0)
    assert lines_of(card_of(session, 5), "large")[0].endswith("→ 2")
    session.advance(len(session.operations) - 2, "operation")
    assert lines_of(card_of(session, 5), "large")[0].startswith("2 → ")
    session.edit(5, 9.0)
    session.edit(5, session.network.bank.value[5] - 0.0)
    session.back(1, "step")
    session.advance(1)
    session.network.bank.value[5] = -4.0  # past the session
    assert lines_of(card_of(session, 5), "large")[0].endswith("→ -4")


def test_a_frozen_weight_says_that_no_step_moves_it() -> None:
    session = advanced(rgb(), 3)
    session.freeze(5)
    session.advance(1)
    card = card_of(session, 5)
    (frozen,) = lines_of(card, "large")
    value = float(frozen.removeprefix("frozen at "))
    assert value == pytest.approx(session.network.bank.value[5], rel=0.006)
    assert lines_of(card, "strong") == ["Why did it not change?"]
    assert "It is frozen: no step moves it." in lines_of(card)[0]
    assert not any(" = " in line for line in lines_of(card))


def test_within_a_step_the_card_says_what_is_known_so_far_and_when_the_rest_comes() -> None:
    session, seen = rgb(), []
    session.advance(3)
    before = lines_of(card_of(session, 5), "large")
    for _ in session.operations[:-1]:
        session.advance(1, "operation")
        card = card_of(session, 5)
        assert lines_of(card, "large") == before  # the last change stays
        assert lines_of(card, "strong") == ["Step 4 so far"]
        seen.append(lines_of(card)[0])
        assert any(isinstance(each, CardTable) for each in card.blocks) == ("moves at" in seen[-1])
    delta = session.operations.index("delta 0")
    for words in seen[1:delta]:
        assert 'signal is not computed yet: it comes at "layer 0: signal"' in words
    assert 'product is not computed yet: it comes at "layer 0: gradient"' in seen[delta]
    assert 'The weight moves at "move".' in seen[-1]
    session.advance(1, "operation")
    assert lines_of(card_of(session, 5), "large") != before
    assert lines_of(card_of(session, 5), "strong") == ["Why did it change?"]


def test_while_it_plays_the_last_explanation_stays() -> None:
    session = advanced(rgb(engine="cpu"), 3)
    stage = Stage(session)
    stage.pin(5)
    rest = stage.frame_data().pinned
    assert rest is not None
    session.play(200.0)
    try:
        while session.step_index < 6:
            pass
        card = stage.frame_data().pinned
        assert card is not None and lines_of(card)[0] == lines_of(rest)[0]
        assert card.blocks[0].aside == "now"
    finally:
        session.pause()
    card = stage.frame_data().pinned
    assert card is not None and f"Step {session.step_index}" in lines_of(card)[0]


def test_a_kernels_weight_adds_up_all_places_the_largest_first() -> None:
    net = sv.Network([sv.Conv2d((1, 6, 6), 2, 3), sv.Flatten((2, 4, 4)), sv.Dense(32, 2)], seed=0)
    images = np.random.default_rng(0).uniform(size=(4, 36))
    session = advanced(sv.Session(net, (images, np.eye(2)[[0, 1, 0, 1]]), engine="python"), 2)
    card = card_of(session, 4)
    sizes = [abs(float(cells[3])) for cells in table_of(card).rows]
    assert sizes == sorted(sizes, reverse=True) and table_of(card).rests[0][0] == "... 64 more"
    assert "used at 16 places in each sample" in lines_of(card)[0]
    best = int(np.argmax(np.abs(session.explain(4).products)))
    assert table_of(card).rows[0][0] == str(best // 16)


def test_a_parameter_of_an_expression_has_a_card_without_products() -> None:
    slope, shift = sv.Value(0.5), sv.Value(0.1)
    line = sv.compile(lambda x: (slope * x + shift).tanh(), inputs=1, engine="python")
    batch = np.linspace(-1, 1, 5)[:, np.newaxis], np.linspace(0, 1, 5)[:, np.newaxis]
    session = sv.Session(line, batch, engine="python")
    assert card_of(session, 0).blocks
    session.advance(2)
    card = card_of(session, 0)
    assert "Its gradient, the blame with the opposite sign, is" in lines_of(card)[0]
    assert_calculates(lines_of(card)[-1])


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e9])
def test_numbers_of_any_size_add_up(scale: float) -> None:
    rng = np.random.default_rng(3)
    for count in (1, 2, 8, 100):
        pairs = rng.normal(size=(count, 2)) * [scale, 1.0]
        table = product_table("abcd", [ProductRow("", *pair) for pair in pairs.tolist()], "sum")
        assert float(table.total[-1]) == pytest.approx(float(pairs.prod(axis=1).sum()), rel=0.06)
        for cut, rest in enumerate(table.rests):
            shown = sum(float(cells[3]) for cells in table.rows[:cut])
            shown += float(rest[-1]) if rest else 0.0
            assert abs(shown - float(table.total[-1])) < 0.51 * last_place(table.total[-1])


# The history.


def test_a_history_before_the_pinning_is_not_made_up() -> None:
    session = advanced(rgb(), 30)
    stage = Stage(session, patience=0.0)  # does not wait for the steps before
    with session.timeline.lock.taken():
        stage.pin(5)
        session._weight_history.background.stop()
        history = stage._cards._history(5, stage._source())
    assert history is not None
    assert history.steps.tolist()[0] == 0 and not history.known[0]
    stage.leave()


def test_pictures_of_an_unchanged_session_have_one_history() -> None:
    session = advanced(rgb(), 40)
    session.edit(5, 0.5)
    session.advance(5)
    found = [card_of(session, 5).blocks for _ in range(4)]
    histories = [each for blocks in found for each in blocks if isinstance(each, History)]
    np.testing.assert_equal([asdict(each) for each in histories], [asdict(histories[0])] * 4)
    assert histories[0].known.all()


@pytest.mark.parametrize("mixed", [False, True])
def test_a_gradient_that_is_not_finite_is_said(mixed: bool) -> None:
    precision = sv.Precision("mixed", loss_scale=2.0**30) if mixed else "full"
    net = sv.Network([1, 1], seed=0)
    session = sv.Session(
        net, ([[1.0]], [[5.0]]), "mse", sv.SGD(0.1), engine="cpu", precision=precision
    )
    session.advance(len(session.operations) - 1, "operation")
    if not mixed:
        net.bank.grad[0] = np.inf
    words = lines_of(card_of(session, 0))
    assert ("The step will be refused: the gradient is not finite." in words) != mixed
    assert ("It is not finite: this step counts it as 0." in words) == mixed


def test_a_card_says_which_samples_moved_the_weight_most() -> None:
    inputs = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    network = sv.Network([2, 4, 1], activation="tanh", output="sigmoid", seed=3)
    table = inputs, np.array([[0.0], [1.0], [1.0], [0.0]])
    session = sv.Session(network, table, optimizer=sv.SGD(0.3), engine="python", batch=3)
    assert not any(
        "moved it most" in line for line in lines_of(card_of(session, 3), "quiet")
    )  # no step yet
    session.advance(40)
    wanted = session.samples_that_moved(3, 30, 3, progress=False)
    (line,) = (line for line in lines_of(card_of(session, 3), "quiet") if "moved it most" in line)
    first = wanted.samples[0]
    assert f"Samples {first.sample} ({first.amount / wanted.total:.0%})," in line
    assert line.endswith(" moved it most in the last 30 steps.")
    assert session.step_index == 40
    made = data.Generated(lambda step, batch, seed: (inputs, table[1]), inputs=2, outputs=1)
    generated = sv.Session(network.copy(), made, batch=4, engine="python")
    generated.advance(5)  # each sample comes once
    assert "moved most" not in " ".join(lines_of(card_of(generated, 3), "quiet"))


def neuron_card_of(session: sv.Session, neuron: tuple[str, int], sample: int = 0) -> Card:
    session.focus = sample
    return card_of(session, neuron)


def tables_of(card: Card) -> list[CardTable]:
    return [each for each in card.blocks if isinstance(each, CardTable)]


def assert_adds_up(table: CardTable, result: float) -> None:
    for cells in table.rows:
        first, second, product = map(float, cells[1:])
        assert abs(first * second - product) < 0.51 * last_place(cells[3])
    total = table.total[-1]
    assert abs(float(total) - result) < 0.51 * last_place(total)
    for count in range(len(table.rows) + 1):
        shown = sum(float(cells[3]) for cells in table.rows[:count])
        shown += float(table.rests[count][-1]) if table.rests[count] else 0.0
        assert abs(shown - float(total)) < 0.51 * last_place(total)


@pytest.mark.parametrize("sample", [0, 5])
def test_neurons_have_their_sum_activation_delta_and_what_they_send(sample: int) -> None:
    session = advanced(rgb(), 7)
    value = session.network.bank.value
    w1, b1, w2, b2 = value[:24].reshape(8, 3), value[24:32], value[32:56].reshape(3, 8), value[56:]
    inputs, targets = session.trainer.batches.at(6)
    x, target = inputs[sample].astype(float), targets[sample].astype(float)
    z1 = w1 @ x + b1
    hidden = np.tanh(z1)
    z2 = w2 @ hidden + b2
    out = 1.0 / (1.0 + np.exp(-z2))
    delta2 = 2.0 * (out - target) / 24 * out * (1.0 - out)
    delta1 = delta2 @ w2 * (1.0 - hidden**2)
    for i in range(8):
        card = neuron_card_of(session, ("tanh 0", i), sample)
        arrives, sends = tables_of(card)
        assert card.name == f"Neuron {i}"
        assert [cells[0] for cells in arrives.rows] == ["input R", "input G", "input B", "bias"]
        assert_adds_up(arrives, z1[i])
        weights = [float(cells[2]) for cells in arrives.rows]
        assert weights == pytest.approx([*w1[i], b1[i]], rel=0.06)
        formula = next(line for line in lines_of(card) if line.startswith("tanh("))
        given, result = formula.removeprefix("tanh(").split(") = ")
        assert float(given) == pytest.approx(z1[i], rel=0.006)
        assert abs(np.tanh(float(given)) - float(result)) < 0.51 * last_place(result)
        (said,) = [line for line in lines_of(card) if line.startswith("signal")]
        assert float(said.split(":")[0].split()[1]) == pytest.approx(delta1[i], rel=0.06)
        assert ("raise" in said) == (delta1[i] > 0.0)
        assert [cells[0] for cells in sends.rows] == ["output R", "output G", "output B"]
        for cells, weight in zip(sends.rows, w2[:, i], strict=True):
            assert float(cells[1]) == pytest.approx(hidden[i], rel=0.006)
            assert float(cells[3]) == pytest.approx(weight * hidden[i], rel=0.006, abs=1e-3)
    for i in range(3):
        card = neuron_card_of(session, ("sigmoid 1", i), sample)
        (arrives,) = tables_of(card)
        assert_adds_up(arrives, z2[i])
        (said,) = [line for line in lines_of(card) if line.startswith("target")]
        wanted, rest = said.removeprefix("target ").split(": ")
        given, off = rest.split(" is off by ")
        assert abs(float(given) - float(wanted) - float(off)) < 0.51 * last_place(off)
        assert float(off) == pytest.approx(out[i] - target[i], rel=0.006)
        (sent,) = tables_of(neuron_card_of(session, ("inputs", i), sample))
        weights = [float(cells[2]) for cells in sent.rows]
        assert weights == pytest.approx(w1[:, i], rel=0.06)
        (large,) = lines_of(neuron_card_of(session, ("inputs", i), sample), "large")
        assert float(large) == pytest.approx(x[i], rel=0.006)


def every_kind() -> sv.Session:
    layers = [
        sv.Conv2d((1, 6, 6), 2, 3, activation="relu"),
        sv.MaxPool2d((2, 4, 4), 2),
        sv.Flatten((2, 2, 2)),
        sv.BatchNorm(8),
        sv.Residual(sv.Dense(8, 8, "tanh"), sv.Dropout(8, 0.2)),
        sv.LayerNorm(8),
        sv.Dense(8, 4, "relu", bias=False),
        sv.Softmax(4),
    ]
    batch = np.random.default_rng(0).uniform(size=(6, 36)), np.eye(4)[[0, 1, 2, 3, 0, 1]]
    return advanced(sv.Session(sv.Network(layers, seed=0), batch, "mse", engine="python"), 3)


def test_neurons_of_all_kinds_of_layers_have_a_card() -> None:
    stage = Stage(every_kind())
    stage.frame_data()
    kinds = set()
    facts, state = moment_of(stage.reading, stage.plan, 0)
    for line in stage.plan.neurons:
        for place in range(len(line.points)):
            neuron = line.buffer, place
            known, card = numbers_of(facts, state, neuron), neuron_card(facts, state, neuron)
            assert known is not None and card is not None
            kinds |= {operation.kind for operation in known.writers}
            assert card.name and len(card.blocks) > 1
            for table in tables_of(card):
                if table.total:
                    writers = reversed(known.writers)
                    sums = next(each.target for each in writers if each.weights >= 0)
                    assert_adds_up(table, state.values[sums][place])
    assert kinds >= {"affine", "convolution", "scale", "activation"}
    assert kinds >= {"row", "dropout", "batch_norm", "sum"}


def test_of_many_terms_the_largest_come_first_and_the_bias_before_them() -> None:
    net = sv.Network([40, 3, 3], "tanh", seed=0)
    session = advanced(sv.Session(net, (np.ones((2, 40)), np.zeros((2, 3))), engine="python"), 1)
    arrives = tables_of(neuron_card_of(session, ("tanh 0", 1)))[0]
    assert arrives.rows[0][0] == "bias" and len(arrives.rows) == 40
    sizes = [abs(float(cells[3])) for cells in arrives.rows[1:]]
    assert sizes == sorted(sizes, reverse=True)


def test_what_goes_twice_into_one_kind_of_operation_says_so_once() -> None:
    halves = [[sv.Slice(4, at, at + 2), sv.Dense(2, 2)] for at in (0, 2)]
    net = sv.Network([sv.Dense(3, 4), sv.Concatenate(*halves)], seed=0)
    session = advanced(sv.Session(net, (np.ones((2, 3)), np.zeros((2, 4))), engine="python"), 1)
    for buffer in net.program.buffers:
        lines = lines_of(card_of(session, (buffer.name, 0)))
        assert len({*lines}) == len(lines), buffer


@pytest.mark.slow
@pytest.mark.parametrize("make", [rgb, pytest.param(every_kind, marks=pytest.mark.slow)])
def test_a_step_is_shown_with_any_neuron_pinned_and_hovered(
    studio: Studio, make: Callable[[], sv.Session]
) -> None:
    session = advanced(make(), 1)
    stage = Stage(session)
    for line in stage.plan.neurons:
        for place in {0, len(line.points) - 1}:
            stage.pin((line.buffer, place))
            stage.hover_neuron = stage.pinned_neuron
            for i in range(len(session.operations)):
                session.advance(1, "operation")
                stage.tick(10.0 * i)
                card = stage.frame_data().pinned
                assert card is not None and card.blocks and stage.captioned().title
            studio.stage(stage, 300.0, (800, 500))
    stage.leave()


X, Y = np.array([[1.0], [2.0]]), np.array([[1.0], [0.5]])


def made() -> sv.Session:
    """A session of u tanh(x) + x u, where u = a b: u is used twice."""
    a, b = sv.Value(2.0, label="a"), sv.Value(-1.5, label="b")

    def function(x: sv.Value) -> sv.Value:
        u = a * b
        u.label = "u"
        return u * x.tanh() + x * u

    return sv.Session(sv.compile(function, 1, engine="python"), (X, Y), optimizer=sv.SGD(0.1))


@pytest.fixture
def s() -> sv.Session:
    return made()


def node_card_of(session: sv.Session, name: str, done: int) -> Card:
    card = node_card(LiveValues(session), (name, 0), done)
    assert card is not None
    return card


def test_a_card_has_the_operation_and_what_came_back(s: sv.Session) -> None:
    s.advance(len(s.operations) - 1, "operation")
    card = node_card_of(s, "[1]", len(s.operations) - 1)
    assert card.name == "u (a × b)" and dict(card.facts)["value"] == "-3"
    assert "2 × (-1.5) = -3" in lines_of(card)
    table = table_of(card)
    assert [row[0] for row in table.rows] == ["x × u", "u × tanh(x)"]
    slopes = [float(row[1]) for row in table.rows]
    np.testing.assert_allclose(slopes, [1.0, np.tanh(1.0)], atol=0.01)
    came = float(s.numbers("multiply 1").upstream[0, 0])
    assert float(table.total[-1]) == pytest.approx(came, rel=0.01)
    assert sum(float(row[-1]) for row in table.rows) == pytest.approx(came, rel=0.01)


def test_before_the_way_back_a_card_says_what_it_goes_into(s: sv.Session) -> None:
    s.advance(4, "operation")
    card = node_card_of(s, "[1]", 4)
    assert lines_of(card)[1:] == ["Its output goes to u × tanh(x).", "Its output goes to x × u."]
    assert [name for name, _ in card.facts] == ["value"]
    assert node_card_of(s, "[3]", 4).facts[0][1] == "not computed yet"


def test_on_the_way_back_a_card_has_the_part_that_has_come(s: sv.Session) -> None:
    done = s.operations.index("multiply gradient 3") + 1
    s.advance(done, "operation")
    card = node_card_of(s, "[1]", done)
    assert [row[0] for row in table_of(card).rows] == ["x × u"]
    assert lines_of(card)[-1] == "Its output goes to u × tanh(x)."


def test_nothing_else_has_such_a_card() -> None:
    assert node_card(LiveValues(made()), ("outputs", 0), 0) is None
    assert node_card(LiveValues(sv.Session(sv.Network([1, 1]), (X, Y))), ("inputs", 0), 0) is None


# What cards read: facts and states.


def test_a_card_reads_outputs_as_the_loss_does() -> None:
    outputs = np.array([[0.3, -1.2, 700.0], [1.0, 0.0, -3.0]])
    for name in ("mse", "sigmoid_cross_entropy", "softmax_cross_entropy"):
        loss = sv.Loss(name)
        wanted = predictions_of(loss, outputs)
        found = [read_answers(row, loss.row.logits) for row in outputs.tolist()]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_is_no_number_comes_after_the_largest() -> None:
    assert largest_first([1.0, math.nan, -3.0, 2.0, -math.inf]) == [4, 2, 3, 0, 1]


def test_a_card_explains_a_weight_without_the_numbers_of_all_samples() -> None:
    """As in a page whose batch is too large to be sent."""
    session = advanced(rgb(), 3)
    for _ in session.operations:
        session.advance(1, "operation")
        with session.doing():
            facts, state = facts_of(session), state_of(session)
            few = replace(state, all=None)
            all_lines, lines = (
                lines_of(Card(40, "", (), blocks_about(facts, each, 40))) for each in (state, few)
            )
        is_whole = not session.clock.operation
        assert len(lines) == len(all_lines) and (is_whole or lines[0] == all_lines[0])
        assert not tables_of(Card(40, "", (), blocks_about(facts, few, 40)))
    assert (
        lines[0].startswith("Its gradient, the blame with the opposite sign, is")
        and " moved it " in lines[0]
    )


def test_a_correction_of_a_custom_kind_is_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def update(w: float, g: float, m: float, lr: float, beta: float, correction: float) -> Any:
        m = beta * m + g
        return w - lr * (m / correction), m

    row = OptimizerRow("odd", update, ("m",), (("beta", 0.9),), lambda step, beta: (2.0 - beta,))
    monkeypatch.setitem(OPTIMIZERS, "odd", row)
    lines = lines_of(card_of(advanced(rgb(sv.Optimizer("odd", 0.1)), 2), 5))
    assert " / 1.1)" in lines[-1] and not any("corrected" in line for line in lines)
    assert_calculates(lines[-1])


def test_a_schedule_may_have_a_name_of_two_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEDULES, "warm up", replace(SCHEDULES["cosine"], name="warm up"))
    schedule = sv.Schedule("warm up", steps=50)
    lines = lines_of(card_of(advanced(rgb(sv.SGD(0.5, schedule=schedule)), 9), 5))
    (rate,) = [line for line in lines if line.startswith("rate = ")]
    assert_calculates(rate)
