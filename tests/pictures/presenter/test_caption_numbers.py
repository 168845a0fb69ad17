"""Every caption of every scene: a calculator agrees with it, and independent numpy, too."""

import importlib
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import scalarviz as sv
from scalarviz import data, nn
from scalarviz.base.texts import texts
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.program import NONE
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.stage import Stage
from scalarviz.story.captions import caption
from scalarviz.training.session.caption import Caption, Piece
from scalarviz.training.session.value_session import session_of
from tests.pictures.presenter.caption_reader import (
    NUMBER,
    agrees,
    all_captions,
    equations,
    value_of,
    words_of,
)
from tests.pictures.presenter.test_numbers_at_first_sight import SCENES
from tests.sessions import advanced

Array = npt.NDArray[np.float64]
# Words of the engines and of their code, which pictures do without.
TECHNICAL = r"\b(grad|bank|rows?|logarithmic|float32|delta|objects?|kernels?)\b"
FIRST = "captions.", "card.", "legend.", "marks.", "notices.", "chart.", "explanation.", "presets."


def of_scene(name: str, **options: Any) -> Callable[[], sv.Session]:
    def made() -> sv.Session:
        module = importlib.import_module(f"scalarviz.scenes.{name}")
        session: sv.Session = module.scene(engine="cpu", **options).session
        return session

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
    shape = (1, 6, 6)
    first = sv.Conv2d(shape, 2, 3, padding=1, activation="leaky_relu")
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

# Their nodes are compared with Values in tests/training/session/test_graph_steps.py.
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


def test_what_stands_beside_the_subject_is_written_as_in_the_lines(told: Any) -> None:
    count = 0
    for name, said, _ in told[1]:
        if not said.callout or not said.lines or name.startswith("branch"):
            continue
        number = NUMBER.findall(said.callout)[-1]
        assert number == "0" or number in NUMBER.findall(" ".join(said.numbers)), f"{name}: {said}"
        count += 1
    assert count > len(told[1]) // 2 or not told[0].network.layers


def test_a_positive_grad_pushes_down(told: Any) -> None:
    ways = set()
    for name, said, _ in told[1]:
        if name.startswith("weight gradient"):
            grad = float(said.callout.removeprefix("gradient "))
            way = "down" if grad > 0.0 else "up" if grad < 0.0 else "not"
            assert f" pushed {way}" in said.title or f" is {way} pushed" in said.title, name
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
        for piece in said.pieces:
            assert piece.mark.count("\n") <= 1, name
            assert piece.row != NONE or not piece.mark, name


def test_a_piece_has_the_number_of_its_weight(told: Any) -> None:
    """The sum, and the way back: the weight stands on its cube, and in the line."""
    session, captions = told
    count = 0
    for name, said, value in captions:
        if not name.startswith(("affine", "convolution", "scale", "input gradient")):
            continue
        for piece in [piece for piece in said.pieces if piece.row != NONE]:
            weight = piece.mark.split("\n")[0]
            assert agrees(float(value[piece.row]), weight), f"{name}: {piece}"
            assert weight in NUMBER.findall(piece.words), f"{name}: {piece}"
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
    assert len(said) > 300
    for key, words in said.items():
        assert not re.search(TECHNICAL, re.sub(r"\{[^}]*\}", "", words)), f"{key}: {words}"


@pytest.mark.some(3)
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
    assert weights[-1].words.startswith("bias ") and weights[-1].mark.endswith("× 1")
    assert whole[-1] == Piece(whole[-1].words, neuron=("affine 1", first // 8))


def test_a_very_long_sum_says_how_many_terms_are_left_out_even_when_it_is_opened() -> None:
    network = sv.Network([100, 1], seed=0)
    inputs = np.random.default_rng(0).normal(size=(4, 100))
    session = sv.Session(network, (inputs, inputs[:, :1]), engine="python")
    session.advance(2, "operation")
    said = caption(session)
    (line,) = said.whole
    assert sum(piece.neuron is not None for piece in line) == 64 + 1
    text = "".join(piece.words for piece in line)
    assert "... 36 more (" in text
    for arithmetic, result in equations(said):
        assert agrees(value_of(arithmetic), result)
