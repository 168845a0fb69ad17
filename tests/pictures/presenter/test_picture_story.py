"""What is said of pictures, norms over a batch, dropout and residuals, with their real numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.scene.frame_data import CardLine
from scalarviz.scene.lights import lights
from scalarviz.stage.narration import blocks_of_weight
from scalarviz.story.backward_captions import BACKWARD_KINDS
from scalarviz.story.captions import FORWARD_KINDS, caption
from scalarviz.story.names import weight_name
from scalarviz.story.traced_weight import path_of_weight, weights_from, weights_into
from scalarviz.training.session.caption import Caption
from tests.pictures.presenter.caption_reader import NUMBER, agrees
from tests.strategies import networks


def session_of(*layers: sv.Layer, batch: int = 3, loss: str = "mse") -> sv.Session:
    net = sv.Network(layers, seed=0, dtype="float64")
    rng = np.random.default_rng(1)
    net.bank.value[:] += 0.3 * rng.normal(size=len(net.bank))
    pairs = rng.normal(size=(batch, net.inputs)), rng.uniform(0.1, 0.9, size=(batch, net.outputs))
    return sv.Session(net, pairs, loss, sv.SGD(0.1), batch=batch, engine="python")


def pictures() -> sv.Session:
    return session_of(
        sv.Conv2d((2, 4, 4), 3, 3, padding=1, activation="tanh"),
        sv.BatchNorm((3, 4, 4)),
        sv.Residual(sv.Conv2d((3, 4, 4), 3, 3, padding=1), sv.Activation((3, 4, 4), "tanh")),
        sv.AvgPool2d((3, 4, 4)),
        sv.Dropout((3, 2, 2), 0.4),
        sv.Dense(12, 2),
    )


def walk(session: sv.Session, row: int | None = None) -> dict[str, Caption]:
    told = {}
    for moment in session.network.program.moments:
        session.advance(1, "operation")
        told[moment.name] = caption(session, row)
    return told


def numbers_in(line: str) -> list[str]:
    return NUMBER.findall(line)


def held(session: sv.Session, name: str) -> Any:
    return session.numbers(name)


def test_every_kind_of_operation_has_its_words() -> None:
    from scalarviz.core.program import KINDS

    assert set(FORWARD_KINDS) == set(KINDS)
    assert set(BACKWARD_KINDS) == set(KINDS) - {"activation"}
    program = pictures().network.program
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
    session, row = pictures(), 1 * 18 + 9 + 4  # kernel 1, channel 1, its middle
    session.focus = 2
    told = walk(session, row)["convolution 0"]
    assert told.title == "Map 1 at 2, 2 adds up what its window sees."
    (line,), (whole,) = told.numbers, told.whole
    assert "... 15 more (" in line
    x = held(session, "convolution 0").inputs[2].reshape(2, 4, 4)
    y = held(session, "convolution 0").outputs[2].reshape(3, 4, 4)[1, 2, 2]
    assert agrees(y, numbers_in(line)[-1])
    seen = [NUMBER.findall(piece.words)[0] for piece in whole if piece.neuron][:-1]
    window = x[:, 1:4, 1:4].ravel()
    assert all(agrees(number, words) for number, words in zip(window, seen, strict=True))
    assert [piece.row for piece in whole if piece.row >= 0] == [*range(18, 36), 55]


def test_a_weight_of_a_kernel_is_told_at_all_its_places() -> None:
    session, row = pictures(), 1 * 18 + 9 + 4
    told = walk(session, row)["weight gradient 0"]
    assert told.title.startswith("The weight at 1, 1 of filter 1 for map 1 is pushed")
    assert told.formula == "gradient = x × signal, added up over 16 places"
    first, last = told.numbers
    assert "... 13 more (" in first and "2 more samples" in last
    grad = session.network.bank.grad[row]
    assert agrees(grad, numbers_in(last)[-1])
    found = session.explain(row)
    assert found.products is not None
    assert agrees(found.products.reshape(3, 16)[0].sum(), numbers_in(first)[-1])
    (marked,) = [piece for piece in told.pieces if piece.row == row]
    assert marked.mark == f"gradient\n{numbers_in(marked.words)[-1]}"
    assert agrees(grad, marked.words)
    said_of_it = [
        block.words for block in blocks_of_weight(session, row) if isinstance(block, CardLine)
    ]
    assert any(words.startswith("It is used at 16 places of each sample") for words in said_of_it)


def test_a_batch_norm_tells_the_mean_and_the_variance_of_its_feature() -> None:
    session = pictures()
    told = walk(session, 31)["batch_norm 1"]
    x = held(session, "batch_norm 1").inputs.reshape(3, 3, 16)[:, 1]
    line, count = told.numbers
    assert count.endswith("of 48 numbers of the batch") and count.startswith("feature 1: ")
    mean, variance = numbers_in(count)[1:3]
    assert agrees(x.mean(), mean) and agrees(x.var(), variance)
    y = held(session, "batch_norm 1").outputs[0].reshape(3, 4, 4)[1, 2, 2]
    assert told.title.startswith("Map 1 at 2, 2 ") and agrees(y, numbers_in(line)[-1])


def test_a_frozen_batch_norm_tells_its_running_numbers() -> None:
    session = pictures()
    session.freeze(session.network.layers[1])
    norm = session.network.layers[1]
    assert isinstance(norm, sv.BatchNorm)
    told = walk(session, 31)["batch_norm 1"]
    assert told.title.startswith("This layer is frozen")
    line, count = told.numbers
    mean, variance = numbers_in(count)[1:3]
    assert agrees(norm.running_mean[1], mean) and agrees(norm.running_variance[1], variance)
    assert count.endswith(texts()["captions.batch_norm.running"])
    y = held(session, "batch_norm 1").outputs[0].reshape(3, 4, 4)[1, 2, 2]
    assert agrees(y, numbers_in(line)[-1])


@pytest.mark.parametrize("is_out", [False, True])
def test_a_dropout_says_what_became_of_a_number(is_out: bool) -> None:
    session = session_of(sv.Dense(2, 12), sv.Dropout(12, 0.4), sv.Dense(12, 1))
    session.advance(2, "operation")
    session.advance(1, "operation")
    y = held(session, "dropout 1").outputs[0]
    feature = int(np.flatnonzero((y == 0.0) == is_out)[0])
    told = caption(session, 2 * feature)
    line, count = told.numbers
    assert told.title.startswith(f"Neuron {feature} ")
    assert ("is left out" in told.title) == is_out and ("/ (1 - 0.4) = " in line) != is_out
    assert count == f"{np.sum(y == 0.0)} of 12 numbers are set to 0"


def test_a_weight_that_lies_beyond_the_edge_everywhere_is_told() -> None:
    session = session_of(sv.Conv2d((1, 1, 1), 1, 3, padding=1), sv.Dense(1, 1))
    told = walk(session, 0)
    assert told["weight gradient 0"].numbers == ("gradient = 0: it only ever lies beyond the edge",)
    said_of_it = [
        block.words for block in blocks_of_weight(session, 0) if isinstance(block, CardLine)
    ]
    assert "gradient = 0: it only ever lies beyond the edge" in said_of_it
    assert all(said.title for said in told.values())


# Paths.


@given(made=networks(), data=st.data())
def test_a_path_goes_from_operation_to_operation(made: Any, data: st.DataObject) -> None:
    program = made[0].program
    count = len(made[0].bank)
    if not count:
        return
    row = data.draw(st.integers(0, count - 1))
    places = path_of_weight(program, row)
    for operation, (output, column) in zip(program.operations, places, strict=True):
        assert 0 <= output < operation.target.size and 0 <= column < operation.source.size
        if row in operation.parameters and len(operation.uses(row)[0]):
            written, read = operation.uses(row)
            assert output in written and (read is None or column in read)


@given(made=networks())
def test_weights_of_an_output_and_of_an_input_are_those_of_all_uses(made: Any) -> None:
    for operation in made[0].program.operations:
        if not operation.parameters:
            continue
        places, written, read = operation.all_uses
        rows = places + operation.parameters.start
        weights = read < operation.source.size
        for output in range(operation.target.size):
            found = sorted(
                zip(*map(np.ndarray.tolist, weights_into(operation, output)), strict=True)
            )
            mine = weights & (written == output)
            assert found == sorted(zip(rows[mine].tolist(), read[mine].tolist(), strict=True))
        for column in range(operation.source.size):
            found_rows, into = weights_from(operation, column)
            mine = weights & (read == column)
            assert sorted(zip(found_rows.tolist(), into.tolist(), strict=True)) == sorted(
                zip(rows[mine].tolist(), written[mine].tolist(), strict=True)
            )


def test_a_kernel_of_a_group_is_named_with_the_map_that_it_reads() -> None:
    session = session_of(sv.Conv2d((4, 3, 3), 2, 2, groups=2), sv.Dense(8, 2))
    operation = session.network.program.operations[0]
    assert weight_name(session, operation, 8) == "the weight at 0, 0 of filter 1 for map 2"


# Lights.


def test_both_ways_are_lit_where_they_come_together() -> None:
    from scalarviz.scene.layout.beads import beads

    program = sv.Network([sv.Residual(sv.Dense(2, 3, "tanh"), sv.Dense(3, 2))], seed=0).program
    layout = beads(program, lambda label: ("", ""))
    (moment,) = [m for m in program.moments if m.name == "sum 0"]
    shown = lights(layout, program, moment, 0.5)
    lit = {
        name
        for i, line in enumerate(layout.neurons)
        for name in line.buffers
        if shown.neurons[i] == 1.0
    }
    assert lit == {"inputs", "branch 0", "affine 0.1", "sum 0"}
