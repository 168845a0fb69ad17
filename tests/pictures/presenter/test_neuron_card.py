"""Cards of neurons: their sums and what they send, recomputed in numpy."""

from collections.abc import Callable

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.scene.frame_data import Card, CardTable
from scalarviz.stage.pointing import buffer_of, count_of
from scalarviz.stage.stage import Stage
from scalarviz.story.cards import neuron_card, numbers_of
from tests.pictures.presenter.test_cards import last_place, lines_of
from tests.sessions import advanced
from tests.studio import Studio


def rgb() -> sv.Session:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0, dtype="float64")
    return sv.Session(network, data.Rgb(), optimizer=sv.SGD(0.5), batch=8, engine="python")


def card_of(session: sv.Session, neuron: tuple[str, int], sample: int = 0) -> Card:
    stage = Stage(session)
    session.focus = sample
    stage.pin(neuron)
    card = stage.frame_data().pinned
    assert card is not None
    return card


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
        card = card_of(session, ("tanh 0", i), sample)
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
        (said,) = [line for line in lines_of(card) if line.startswith("error signal")]
        assert float(said.split(":")[0].split()[2]) == pytest.approx(delta1[i], rel=0.06)
        assert ("raise" in said) == (delta1[i] > 0.0)
        assert [cells[0] for cells in sends.rows] == ["output R", "output G", "output B"]
        for cells, weight in zip(sends.rows, w2[:, i], strict=True):
            assert float(cells[1]) == pytest.approx(hidden[i], rel=0.006)
            assert float(cells[3]) == pytest.approx(weight * hidden[i], rel=0.006, abs=1e-3)
    for i in range(3):
        card = card_of(session, ("sigmoid 1", i), sample)
        (arrives,) = tables_of(card)
        assert_adds_up(arrives, z2[i])
        (said,) = [line for line in lines_of(card) if line.startswith("target")]
        wanted, rest = said.removeprefix("target ").split(": ")
        given, off = rest.split(" is off by ")
        assert abs(float(given) - float(wanted) - float(off)) < 0.51 * last_place(off)
        assert float(off) == pytest.approx(out[i] - target[i], rel=0.006)
        (sent,) = tables_of(card_of(session, ("inputs", i), sample))
        weights = [float(cells[2]) for cells in sent.rows]
        assert weights == pytest.approx(w1[:, i], rel=0.06)
        (large,) = lines_of(card_of(session, ("inputs", i), sample), "large")
        assert float(large) == pytest.approx(x[i], rel=0.006)


def test_the_1_sends_the_biases() -> None:
    session = rgb()
    card = card_of(session, ("inputs", 3))
    (table,) = tables_of(card)
    biases = [float(cells[3]) for cells in table.rows]
    assert biases == pytest.approx(session.network.bank.value[24:32], rel=0.006, abs=1e-3)
    assert [cells[1] for cells in table.rows] == ["1"] * 8


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
    images = np.random.default_rng(0).uniform(size=(6, 36))
    batch = images, np.eye(4)[[0, 1, 2, 3, 0, 1]]
    return advanced(sv.Session(sv.Network(layers, seed=0), batch, "mse", engine="python"), 3)


def test_neurons_of_all_kinds_of_layers_have_a_card() -> None:
    session = every_kind()
    stage = Stage(session)
    stage.frame_data()
    kinds = set()
    for line in stage.plan.neurons:
        for place in range(count_of(line)):
            known = numbers_of(stage.reading, stage.plan, (buffer_of(line), place), 0)
            assert known is not None
            card = neuron_card(known)
            kinds |= {operation.kind for operation in known.writers}
            assert card.name and len(card.blocks) > 1
            for table in tables_of(card):
                if table.total:
                    sums = next(o.target.name for o in known.writers if o.weights >= 0)
                    assert_adds_up(table, float(known.values[sums][place]))
    assert kinds >= {"affine", "convolution", "scale", "activation"}
    assert kinds >= {"row", "dropout", "batch_norm", "sum"}


def test_of_many_terms_the_largest_come_first_and_the_bias_before_them() -> None:
    net = sv.Network([40, 3, 3], "tanh", seed=0)
    session = advanced(sv.Session(net, (np.ones((2, 40)), np.zeros((2, 3))), engine="python"), 1)
    arrives = tables_of(card_of(session, ("tanh 0", 1)))[0]
    assert arrives.rows[0][0] == "bias" and len(arrives.rows) == 40
    sizes = [abs(float(cells[3])) for cells in arrives.rows[1:]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("make", [rgb, pytest.param(every_kind, marks=pytest.mark.slow)])
def test_a_step_is_shown_with_any_neuron_pinned_and_hovered(
    studio: Studio, make: Callable[[], sv.Session]
) -> None:
    """The 1 of the biases, too, which is no place of a buffer."""
    session = advanced(make(), 1)
    stage = Stage(session)
    for line in stage.plan.neurons:
        for place in {0, count_of(line) - 1}:
            stage.pin((buffer_of(line), place))
            stage.hover_neuron = stage.pinned_neuron
            for i in range(len(session.operations)):
                session.advance(1, "operation")
                stage.tick(10.0 * i)
                card = stage.frame_data().pinned
                assert card is not None and card.blocks and stage.captioned().title
            studio.stage(stage, 300.0, (800, 500))
    stage.leave()
