"""Outputs that the loss turns into shares first: what is off is the share, not the raw output."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import Card
from scalarviz.scene.neurons import draw_errors
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.formats import said as in_words
from scalarviz.story.tour import tour_caption
from tests.pictures.presenter.test_cards import lines_of
from tests.pictures.view.measures import projection, stage_of

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


@LOSSES
def test_at_the_loss_each_output_is_off_as_the_loss_reads_it(loss: str) -> None:
    session, predictions, targets = compared(loss)
    stage = stage_of(Show(session), (1280, 800))
    canvas = Canvas2D(1280, 800)
    draw_errors(canvas, projection(stage), stage.frame_data(), THEMES["dark"])
    off = [float(words.removeprefix("off by ")) for words in canvas.words]
    np.testing.assert_allclose(off, predictions - targets, atol=0.00501)


@LOSSES
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_card_of_an_output_compares_what_the_loss_reads(loss: str, place: int) -> None:
    session, predictions, targets = compared(loss)
    card = card_of(session, place)
    (words,) = [line for line in lines_of(card) if line.startswith("target")]
    name = {"softmax_cross_entropy": "share ", "sigmoid_cross_entropy": "sigmoid ", "mse": ""}[loss]
    start, off = words.split(" is off by ")
    value = start.removeprefix(f"target {targets[place]:g}: {name}")
    assert float(value) == pytest.approx(predictions[place], rel=0.006)
    assert float(off) == pytest.approx(predictions[place] - targets[place], rel=0.006)
    facts = dict(card.facts)
    assert facts["target"] == in_words(targets[place])
    if name:
        assert facts[name.strip()] == in_words(predictions[place], 3)
    else:
        assert not {"share", "sigmoid"} & set(facts)


@LOSSES
def test_the_tour_says_how_far_the_outputs_are_off_as_the_loss_reads_them(loss: str) -> None:
    session, predictions, targets = compared(loss)
    words = tour_caption("error", Stage(session).reading).title
    assert f" {in_words(float(np.abs(predictions - targets).max()))} " in words


def card_of(session: sv.Session, place: int) -> Card:
    """The card of an output."""
    stage = Stage(session)
    stage.pin((session.network.program.outputs.name, place))
    card = stage.frame_data().pinned
    assert card is not None
    return card
