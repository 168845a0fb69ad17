"""The numbers in captions of every scene: a calculator and independent numpy agree with them."""

import importlib
import random
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import data, nn
from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import texts
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.program import NONE
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.lights import lights
from scalarviz.stage.narration import blocks_of_weight
from scalarviz.stage.stage import Stage
from scalarviz.story.backward_captions import BACKWARD_KINDS
from scalarviz.story.caption import Caption, CardLine, Miss, Piece
from scalarviz.story.captions import FORWARD_KINDS
from scalarviz.story.formats import said as in_words
from scalarviz.story.forward_captions import shares_in_print
from scalarviz.story.guide import tour_caption
from scalarviz.story.names import name_of_row
from scalarviz.story.traced_weight import path_of_weight, weights_from, weights_into
from scalarviz.training.session.reading import buffers_of, caption, facts_of, operation_facts
from scalarviz.training.session.value_session import session_of
from tests.sessions import advanced, networks
from tests.stage.test_first_sight import SCENES
from tests.story.caption_reader import (
    NUMBER,
    agrees,
    all_captions,
    card_of,
    equations,
    value_of,
    walk,
    words_of,
)
from tests.story.test_cards import lines_of

Array = npt.NDArray[np.float64]
# Words of the engines and of their code, which pictures do without.
TECHNICAL = r"\b(grad|bank|logarithmic|float32|delta|objects?|kernels?)\b"
FIRST = "captions.", "card.", "legend.", "marks.", "notices.", "chart.", "explanation.", "presets."


def of_scene(name: str, **options: Any) -> Callable[[], sv.Session]:
    def made() -> Any:
        module = importlib.import_module(f"scalarviz.scenes.{name}")
        return module.scene(engine="cpu", **options).session

    return made


def zoo() -> sv.Session:
    """A network with every kind of layer on numbers."""
    inner = [sv.Dense(6, 6, "gelu"), sv.Dropout(6, 0.4)]
    layers = [
        sv.FrequencyEncoding(2, 2),
        *(sv.Dense(8, 6, "swish"), sv.LayerNorm(6), sv.Dense(6, 6, "softplus")),
        *(sv.RMSNorm(6), sv.Residual(*inner), sv.BatchNorm(6), sv.Dense(6, 6, "elu")),
        sv.Product(sv.Dense(6, 5, "tanh"), [sv.Dense(6, 4), sv.Dense(4, 5)]),
        sv.Concatenate(sv.Dense(5, 2), sv.Activation(5, "relu")),
        *(sv.Dense(7, 6, "sin"), sv.Dense(6, 4, "exp"), sv.Dense(4, 3), sv.Softmax(3)),
    ]
    pairs = np.random.default_rng(0).normal(size=(16, 5))
    network = sv.Network(layers, seed=1)
    return sv.Session(
        network, (pairs[:, :2], pairs[:, 2:]), "mae", sv.AdamW(0.01), batch=8, engine="python"
    )


def pictures() -> sv.Session:
    """A network with every kind of layer on pictures."""
    first = sv.Conv2d((1, 6, 6), 2, 3, padding=1, activation="leaky_relu")
    pools = sv.AvgPool2d(first.output_shape, 3, 2, padding=1), sv.BatchNorm((2, 3, 3))
    second = sv.Conv2d((2, 3, 3), 3, 2, bias=False, activation="tanh")
    last = sv.MaxPool2d(second.output_shape, 2, 1)
    network = sv.Network([first, *pools, second, last, sv.Dense(last.outputs, 2)], seed=2)
    numbers = np.random.default_rng(1).random((8, 36))
    targets = np.random.default_rng(2).random((8, 2))
    loss = sv.Loss("huber", mean="none")
    return sv.Session(network, (numbers, targets), loss, sv.RMSProp(0.01), 4, engine="python")


def groups() -> sv.Session:
    """Kernels that see some of the maps."""
    first = sv.Conv2d((4, 5, 5), 4, 3, (2, 1), 1, "tanh", dilation=(1, 2), groups=2)
    network = sv.Network([first, sv.Conv2d((4, 3, 3), 4, 2, groups=4), sv.Dense(16, 2)], seed=2)
    numbers = np.random.default_rng(1).random((8, 100))
    return sv.Session(network, (numbers, numbers[:, :2]), batch=4, engine="python")


def one_sample() -> sv.Session:
    network = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    return sv.Session(network, data.Rgb(), "smape", sv.Nesterov(0.1), batch=1, engine="python")


def neurons() -> sv.Session:
    """The graph of an MLP for one sample, whose nodes are neurons."""
    random.seed(0)
    return session_of(nn.MLP(2, [16, 16, 1])([0.5, -1.2]))


def batch() -> sv.Session:
    """The graph of a loss of 40 samples, whose nodes are neurons of all of them."""
    random.seed(0)
    network, pairs = nn.MLP(2, [8, 1]), np.random.default_rng(0).normal(size=(40, 2)).tolist()
    errors = [(network(pair) - pair[0]) ** 2 for pair in pairs]
    return session_of(sum(errors, sv.Value(0.0)) * 0.025)


SESSIONS: dict[str, Callable[[], sv.Session]] = {
    **{name: of_scene(name) for name in ("circle", "digits", "expression", "normalized")},
    **{name: of_scene(name) for name in ("retrain", "rgb", "xnor", "xor")},
    "rgb deep": of_scene("rgb", depth=2, hidden=5, map="sepia"),
    "texture": of_scene("texture", hidden=16, batch=64, size=32),
    "zoo": zoo,
    "pictures": pictures,
    "groups": groups,
    "one sample": one_sample,
    "neurons": neurons,
    "neurons of a batch": batch,
}


QUICK = "circle", "normalized", "zoo", "groups", "neurons"

# Their nodes are compared with Values in tests/training/network/test_expression.py.
GRAPHS = "expression", "neurons", "neurons of a batch"


def walked(session: sv.Session, row: int | None) -> Iterator[tuple[str, Caption, Any]]:
    """Each operation of a step with its caption, and what the session has then."""
    for name in list(session.operations):
        before = session.network.bank.value.copy()
        session.advance(1, "operation")
        yield name, caption(session, row), before


def rows_of(session: sv.Session) -> list[int | None]:
    rows = list(row_numbers(session.network))
    return [None, rows[-1], rows[len(rows) // 2]]


@pytest.fixture(
    params=[
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SESSIONS
    ],
    scope="module",
)
def told(request: pytest.FixtureRequest) -> tuple[sv.Session, list[tuple[str, Caption, Any]]]:
    """A session, and the captions of three steps that follow different weights."""
    session = SESSIONS[request.param]()
    found = []
    session.advance(3)
    session.focus = session.trainer.batches.size // 2
    for row in rows_of(session):
        found += list(walked(session, row))
    return session, found


def test_a_calculator_agrees_with_every_line(told: Any) -> None:
    count = 0
    for name, said, _ in told[1]:
        for arithmetic, result in equations(said):
            assert agrees(value_of(arithmetic), result), f"{name}: {arithmetic} = {result}"
            count += 1
    alone = [said for _, said, _ in told[1] if not re.search(r"\d times", said.title)]
    assert count > len(alone) // 2  # nodes that stand for several have their mean alone


def test_numbers_are_short_and_nothing_is_called_g(told: Any) -> None:
    for name, said, _ in told[1]:
        words = words_of(said)
        assert not re.search(r"\bg\b", words), f"{name}: {words}"
        assert "*" not in words and "->" not in words and "^2" not in words, f"{name}: {words}"
        assert not re.search(r"(?<![\d.])\.\d", words), f"{name}: {words}"
        for number in NUMBER.findall(words):
            digits = number.partition("e")[0].lstrip("-").replace(".", "").lstrip("0")
            assert len(digits) <= 9, f"{name}: {number}"


def test_a_positive_grad_pushes_down(told: Any) -> None:
    ways = set()
    for name, said, _ in told[1]:
        if name.startswith("weight gradient"):
            grad = float(NUMBER.findall(said.numbers[-1])[-1])
            way = "lower" if grad > 0.0 else "higher" if grad < 0.0 else "not"
            asked = " need not change:" if way == "not" else f" should be {way}."
            assert asked in said.title, name
            ways.add(way)
    assert len(ways) > 1 or not told[0].network.layers


def test_a_caption_speaks_of_something_in_the_picture(told: Any) -> None:
    session, captions = told
    program = session.network.program
    known = *program.buffers, *program.given, *(each.target for each in program.operations)
    buffers = {buffer.name: buffer.size for buffer in known}
    for name, said, _ in captions:
        assert said.title[-1] in ".?", name
        assert said.rows or said.neurons or not session.network.layers, name
        for buffer, place in [*said.neurons, *(p.neuron for p in said.pieces if p.neuron)]:
            assert 0 <= place < buffers[buffer], f"{name}: {buffer} {place}"
        for row in [*said.rows, *(p.row for p in said.pieces if p.row != NONE)]:
            assert 0 <= row < len(session.network.bank), name


def test_a_piece_has_the_number_of_its_weight(told: Any) -> None:
    """The sum, and the way back: the weight is the one or the other factor of its term."""
    session, captions = told
    count = 0
    for name, said, value in captions:
        if not name.startswith(("affine", "convolution", "scale", "input gradient")):
            continue
        for piece in [piece for piece in said.pieces if piece.row != NONE]:
            weight = NUMBER.findall(piece.words)[0 if name.startswith("input") else -1]
            assert agrees(float(value[piece.row]), weight), f"{name}: {piece}"
            count += 1
    assert count or not session.network.layers


def numbers_of(session: sv.Session, name: str) -> dict[str, Array]:
    """The numbers of the focus sample in all buffers around an operation."""
    operation = next(each for each in session.network.program.operations if each.name == name)
    held = session.numbers(name)
    found = {operation.source.name: held.inputs, operation.target.name: held.outputs}
    return {key: each[session.focus].astype(np.float64) for key, each in found.items()}


@pytest.mark.some(3)
@pytest.mark.parametrize("key", [key for key in SESSIONS if key not in GRAPHS])
def test_each_number_is_that_of_the_engine(key: str) -> None:
    """Pieces about neurons have the numbers of these neurons, and the result that of the subject.

    They are read from the session, and recomputed where the weights are a matrix.
    """
    session = advanced(SESSIONS[key](), 4)
    session.focus = session.trainer.batches.size - 1
    program, value = session.network.program, session.network.bank.value.copy()
    count = 0
    for done, name in enumerate(list(session.operations)):
        moment = program.moments[done]
        session.advance(1, "operation")
        said = caption(session)
        if moment.kind == "forward":
            held = numbers_of(session, name)
            (buffer, place), line = said.neurons[0], said.lines[0]
            result = line[-1].words.split(" ")[-1]
            if line[-1].neuron == said.neurons[0] and NUMBER.fullmatch(result):
                assert agrees(float(held[buffer][place]), result), f"{name}: {said}"
                count += 1
            for piece in (p for p in line if p.row != NONE and p.neuron):
                first = NUMBER.findall(piece.words)[0]
                own, at = piece.neuron
                assert agrees(float(held[own][at]), first), f"{name}: {piece}"
        if moment.operation == NONE or moment.kind == "forward":
            continue
        operation = program.operations[moment.operation]
        held = session.numbers(operation.name)
        if moment.kind == "delta":
            about = held.gradient if operation.kind == "activation" else held.upstream
            number = float(about[session.focus, said.neurons[0][1]])
            assert agrees(number, said.lines[-1][-1].words), f"{name}: {said}"
            count += 1
        if moment.kind == "input gradient" and operation.kind == "affine":
            outputs, inputs = operation.shape
            first = operation.weights
            matrix = value[first : first + outputs * inputs].reshape(outputs, inputs)
            arrived = held.upstream[session.focus].astype(np.float64) @ matrix
            assert agrees(float(arrived[said.neurons[0][1]]), said.lines[0][-1].words)
            count += 1
        if moment.kind == "weight gradient" and operation.kind == "affine":
            grads = held.upstream.astype(np.float64).T @ held.inputs.astype(np.float64)
            place = said.rows[0] - operation.weights
            assert agrees(float(grads.ravel()[place]), said.lines[-1][-1].words), f"{name}: {said}"
            count += 1
    assert count > len(program.operations)


def test_texts_of_captions_have_no_other_names() -> None:
    for words in all_captions():
        words = re.sub(r"\{[^}]*\}", "", words)
        assert not re.search(r"\bg\b|perceptron|" + TECHNICAL, words), words


def test_what_is_read_first_has_no_words_of_the_engines() -> None:
    said = {key: words for key, words in texts().items() if key.startswith(FIRST)}
    said = {key: words for key, words in said.items() if "compiling" not in key}  # are kernels
    assert len(said) > 300
    for key, words in said.items():
        assert not re.search(TECHNICAL, re.sub(r"\{[^}]*\}", "", words)), f"{key}: {words}"


@pytest.mark.some(1)
@pytest.mark.parametrize("name", SCENES)
def test_no_picture_of_a_scene_has_words_of_the_engines(name: str, studio: Any) -> None:
    play = load(find(name))(engine="python" if name in ("rgb", "xor") else "cpu")
    play.session.advance(2)
    stage = Stage(play)
    for _ in range(2):
        studio.stage(stage, 0.0, (1280, 800))
        stage.hover = 1
        for words in stage.picture().words:
            assert not re.search(TECHNICAL, words), words
        play.session.advance(len(play.session.operations) - 2, "operation")


def test_a_sum_leaves_terms_out_and_can_be_opened() -> None:
    session = advanced(SESSIONS["rgb"](), 4, "operation")
    said = caption(session)
    text = said.numbers[0]
    assert "... 5 more (" in text and text.count(" × ") == 3 and "+ bias " in text
    (whole,) = said.whole
    weights = [piece for piece in whole if piece.row != NONE]
    first = 8 * int(np.abs(session.numbers("affine 1").outputs[session.focus]).argmax())
    assert [piece.row for piece in weights] == [*range(32 + first, 40 + first), 56 + first // 8]
    assert [piece.neuron for piece in weights[:-1]] == [("tanh 0", i) for i in range(8)]
    assert weights[-1].words.startswith("bias ")
    assert whole[-1] == Piece(whole[-1].words, neuron=("affine 1", first // 8))


def test_a_very_long_sum_says_how_many_terms_are_left_out_even_when_it_is_opened() -> None:
    network = sv.Network([100, 1], seed=0)
    inputs = np.random.default_rng(0).normal(size=(4, 100))
    session = sv.Session(network, (inputs, inputs[:, :1]), engine="python")
    session.advance(2, "operation")
    said = caption(session)
    (line,) = said.whole
    assert sum(piece.neuron is not None for piece in line) == 64 + 1
    assert "... 36 more (" in "".join(piece.words for piece in line)
    for arithmetic, result in equations(said):
        assert agrees(value_of(arithmetic), result)


def session_of_layers(*layers: sv.Layer, batch: int = 3, loss: str = "mse") -> sv.Session:
    net = sv.Network(layers, seed=0, dtype="float64")
    rng = np.random.default_rng(1)
    net.bank.value[:] += 0.3 * rng.normal(size=len(net.bank))
    pairs = rng.normal(size=(batch, net.inputs)), rng.uniform(0.1, 0.9, size=(batch, net.outputs))
    return sv.Session(net, pairs, loss, sv.SGD(0.1), batch=batch, engine="python")


def picture_session() -> sv.Session:
    return session_of_layers(
        sv.Conv2d((2, 4, 4), 3, 3, padding=1, activation="tanh"),
        sv.BatchNorm((3, 4, 4)),
        sv.Residual(sv.Conv2d((3, 4, 4), 3, 3, padding=1), sv.Activation((3, 4, 4), "tanh")),
        sv.AvgPool2d((3, 4, 4)),
        sv.Dropout((3, 2, 2), 0.4),
        sv.Dense(12, 2),
    )


def test_every_kind_of_operation_has_its_words() -> None:
    from scalarviz.core.program import KINDS

    assert set(FORWARD_KINDS) == set(KINDS)
    assert set(BACKWARD_KINDS) == set(KINDS) - {"activation"}
    program = picture_session().network.program
    weighted = {operation.kind for operation in program.operations if operation.parameters}
    assert {f"captions.weighted.{kind}.title" for kind in weighted} <= texts().keys()


@given(made=networks(learning=True), data=st.data())
def test_every_moment_of_every_network_is_told(made: Any, data: st.DataObject) -> None:
    net, x = made
    target = np.random.default_rng(0).uniform(0.1, 0.9, size=(len(x), net.outputs))
    session = sv.Session(net, (x, target), optimizer=sv.SGD(0.01), engine="python")
    row = data.draw(st.integers(0, len(net.bank) - 1)) if len(net.bank) else None
    for name, said in walk(session, row).items():
        assert said.title, name
        assert all(said.numbers), name


def test_a_window_is_added_up_with_the_numbers_that_the_kernel_sees() -> None:
    session, row = picture_session(), 1 * 18 + 9 + 4  # kernel 1, channel 1, its middle
    session.focus = 2
    told = walk(session, row)["convolution 0"]
    assert told.title.startswith("Here 18 products and b add up: ")
    (line,), (whole,) = told.numbers, told.whole
    assert "... 15 more (" in line
    x = session.numbers("convolution 0").inputs[2].reshape(2, 4, 4)
    y = session.numbers("convolution 0").outputs[2].reshape(3, 4, 4)[1, 2, 2]
    assert agrees(y, NUMBER.findall(line)[-1])
    seen = [NUMBER.findall(piece.words)[0] for piece in whole if piece.neuron][:-1]
    window = x[:, 1:4, 1:4].ravel()
    assert all(agrees(number, words) for number, words in zip(window, seen, strict=True))
    assert [piece.row for piece in whole if piece.row >= 0] == [*range(18, 36), 55]


def test_a_weight_of_a_kernel_is_told_at_all_its_places() -> None:
    session, row = picture_session(), 1 * 18 + 9 + 4
    told = walk(session, row)["weight gradient 0"]
    assert told.title.startswith("This weight should be ") and told.rows == (row,)
    assert told.formula == "gradient = x × signal, summed over 16 places"
    first, last = told.numbers
    assert "... 13 more (" in first and "2 more samples" in last
    grad = session.network.bank.grad[row]
    assert agrees(grad, NUMBER.findall(last)[-1])
    found = session.explain(row)
    assert found.products is not None
    assert agrees(found.products.reshape(3, 16)[0].sum(), NUMBER.findall(first)[-1])
    (marked,) = [piece for piece in told.pieces if piece.row == row]
    assert agrees(grad, marked.words)
    said_of_it = [
        block.words for block in blocks_of_weight(session, row) if isinstance(block, CardLine)
    ]
    assert any(words.startswith("It is used at 16 places in each sample") for words in said_of_it)


def test_a_batch_norm_tells_the_mean_and_the_variance_of_its_feature() -> None:
    session = picture_session()
    told = walk(session, 31)["batch_norm 1"]
    x = session.numbers("batch_norm 1").inputs.reshape(3, 3, 16)[:, 1]
    line, count, words = told.numbers
    assert count.endswith("of 48 numbers of the batch") and count.startswith("feature 1: ")
    mean, variance = NUMBER.findall(count)[1:3]
    assert agrees(x.mean(), mean) and agrees(x.var(), variance)
    y = session.numbers("batch_norm 1").outputs[0].reshape(3, 4, 4)[1, 2, 2]
    assert words.startswith("Map 1 at 2, 2 ") and agrees(y, NUMBER.findall(line)[-1])


def test_a_frozen_batch_norm_tells_its_running_numbers() -> None:
    session = picture_session()
    session.freeze(session.network.layers[1])
    norm = session.network.layers[1]
    assert isinstance(norm, sv.BatchNorm)
    told = walk(session, 31)["batch_norm 1"]
    line, count, words = told.numbers
    assert words.startswith("This layer is frozen")
    mean, variance = NUMBER.findall(count)[1:3]
    assert agrees(norm.running_mean[1], mean) and agrees(norm.running_variance[1], variance)
    assert count.endswith(texts()["captions.batch_norm.running"])
    y = session.numbers("batch_norm 1").outputs[0].reshape(3, 4, 4)[1, 2, 2]
    assert agrees(y, NUMBER.findall(line)[-1])


@pytest.mark.parametrize("is_out", [False, True])
def test_a_dropout_says_what_became_of_a_number(is_out: bool) -> None:
    session = session_of_layers(sv.Dense(2, 12), sv.Dropout(12, 0.4), sv.Dense(12, 1))
    session.advance(2, "operation")
    session.advance(1, "operation")
    y = session.numbers("dropout 1").outputs[0]
    feature = int(np.flatnonzero((y == 0.0) == is_out)[0])
    told = caption(session, 2 * feature)
    line, count = told.numbers
    assert told.title.startswith(f"Neuron {feature} ")
    assert ("is left out" in told.title) == is_out and ("/ (1 - 0.4) = " in line) != is_out
    assert count == f"{np.sum(y == 0.0)} of 12 numbers are set to 0"


def test_a_weight_that_lies_beyond_the_edge_everywhere_is_told() -> None:
    session = session_of_layers(sv.Conv2d((1, 1, 1), 1, 3, padding=1), sv.Dense(1, 1))
    told = walk(session, 0)
    assert told["weight gradient 0"].numbers == (
        "gradient = 0: it lies outside the picture at every position",
    )
    said_of_it = [
        block.words for block in blocks_of_weight(session, 0) if isinstance(block, CardLine)
    ]
    assert "gradient = 0: it lies outside the picture at every position" in said_of_it
    assert all(said.title for said in told.values())


# Paths.


def facts_for(program: Any) -> Any:
    """What paths read of Facts, of a network without a session."""
    each = [operation_facts(program, operation) for operation in program.operations]
    return SimpleNamespace(buffers=buffers_of(program, {}), operations=each)


@given(made=networks(), data=st.data())
def test_a_path_goes_from_operation_to_operation(made: Any, data: st.DataObject) -> None:
    program = made[0].program
    count = len(made[0].bank)
    if not count:
        return
    row = data.draw(st.integers(0, count - 1))
    places = path_of_weight(facts_for(program), row)
    for operation, (output, column) in zip(program.operations, places, strict=True):
        assert 0 <= output < operation.target.size and 0 <= column < operation.source.size
        if row in operation.parameters and len(operation.uses(row)[0]):
            written, read = operation.uses(row)
            assert output in written and (read is None or column in read)


@given(made=networks())
def test_weights_of_an_output_and_of_an_input_are_those_of_all_uses(made: Any) -> None:
    facts = facts_for(made[0].program)
    for own, operation in zip(facts.operations, made[0].program.operations, strict=True):
        if not operation.parameters:
            continue
        places, written, read = operation.all_uses
        rows = places + operation.parameters.start
        weights = read < operation.source.size
        for output in range(operation.target.size):
            found = sorted(zip(*weights_into(facts, own, output), strict=True))
            mine = weights & (written == output)
            assert found == sorted(zip(rows[mine].tolist(), read[mine].tolist(), strict=True))
        for column in range(operation.source.size):
            found_rows, into = weights_from(facts, own, column)
            mine = weights & (read == column)
            assert sorted(zip(found_rows, into, strict=True)) == sorted(
                zip(rows[mine].tolist(), written[mine].tolist(), strict=True)
            )


def test_a_kernel_of_a_group_is_named_with_the_map_that_it_reads() -> None:
    session = session_of_layers(sv.Conv2d((4, 3, 3), 2, 2, groups=2), sv.Dense(8, 2))
    assert name_of_row(facts_of(session), 8) == "the weight at 0, 0 of filter 1 for map 2"


# Lights.


def test_both_ways_are_lit_where_they_come_together() -> None:
    from scalarviz.scene.layout.trays import trays_layout

    program = sv.Network([sv.Residual(sv.Dense(2, 3, "tanh"), sv.Dense(3, 2))], seed=0).program
    layout = trays_layout(program, lambda label: ("", ""))
    (moment,) = [m for m in program.moments if m.name == "sum 0"]
    shown = lights(layout, program, moment)
    lit = {
        name
        for i, line in enumerate(layout.neurons)
        for name in line.buffers
        if shown.neurons[i] == 1.0
    }
    assert lit == {"inputs", "branch 0", "affine 0.1", "sum 0"}


INPUTS = np.array([[0.2, 0.9], [-0.8, -0.4], [0.7, -0.6]])
LOSSES = pytest.mark.parametrize("loss", ["softmax_cross_entropy", "sigmoid_cross_entropy", "mse"])


def compared(loss: str) -> tuple[sv.Session, FloatArray, FloatArray]:
    """A session after the loss of its fourth step; predictions and targets of sample 1."""
    network = sv.Network([2, 4, 3], "tanh", "linear", seed=0, dtype="float64")
    session = sv.Session(network, (INPUTS, np.eye(3)), loss, sv.SGD(2.0), engine="python")
    session.advance(3)
    session.focus = 1
    raw = network(INPUTS)[1]
    session.advance(session.operations.index("loss") + 1, "operation")
    predictions = {
        "softmax_cross_entropy": np.exp(raw) / np.exp(raw).sum(),
        "sigmoid_cross_entropy": 1.0 / (1.0 + np.exp(-raw)),
        "mse": raw,
    }
    return session, predictions[loss], np.eye(3)[1]


@pytest.mark.some(3)
@LOSSES
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_card_of_an_output_compares_what_the_loss_reads(loss: str, place: int) -> None:
    session, predictions, targets = compared(loss)
    card = card_of(session, (session.network.program.outputs.name, place))
    (words,) = [line for line in lines_of(card) if line.startswith("target")]
    name = {
        "softmax_cross_entropy": "probability ",
        "sigmoid_cross_entropy": "sigmoid ",
        "mse": "",
    }[loss]
    start, off = words.split(" is off by ")
    value = start.removeprefix(f"target {targets[place]:g}: {name}")
    assert float(value) == pytest.approx(predictions[place], rel=0.006)
    assert float(off) == pytest.approx(predictions[place] - targets[place], rel=0.006)
    facts = dict(card.facts)
    assert facts["target"] == in_words(targets[place])
    if name:
        assert facts[name.strip()] == in_words(predictions[place], 3)
    else:
        assert not {"probability", "sigmoid"} & set(facts)


@LOSSES
def test_the_tour_says_how_far_the_outputs_are_off_as_the_loss_reads_them(loss: str) -> None:
    session, predictions, targets = compared(loss)
    words = tour_caption("error", *Stage(session).reading.moment(0)).title
    assert f" {in_words(float(np.abs(predictions - targets).max()))} " in words


def test_scores_whose_powers_print_as_zero_have_bars_without_powers() -> None:
    misses = [Miss(("out", i), f"{i}", 1.0 / 3.0, float(i == 1)) for i in range(3)]
    assert shares_in_print([-20.0, -20.0, -20.0], misses, 1) is None
