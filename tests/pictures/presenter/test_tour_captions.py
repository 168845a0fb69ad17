"""The sentences of the tour, with true numbers."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.stage import Stage
from scalarviz.story.formats import said
from scalarviz.story.tour import PARTS, tour_caption


def xor(outputs: int = 1, loss: str = "mse") -> sv.Session:
    net = sv.Network([2, 3, outputs], "tanh", seed=0)
    inputs = [[0, 0], [0, 1], [1, 0], [1, 1]]
    targets = [[float(i == j % 2) for j in range(outputs)] for i in (1, 0, 0, 1)]
    return sv.Session(net, (inputs, targets), loss, sv.SGD(0.5), engine="python")


def read(session: sv.Session) -> LiveValues:
    reading = LiveValues(session)
    reading.refresh()
    return reading


@pytest.mark.parametrize("outputs", [1, 3, 6])
def test_it_says_how_far_the_output_is_off(outputs: int) -> None:
    session = xor(outputs)
    session.focus = 2
    session.advance(session.operations.index("loss") + 1, "operation")
    words = tour_caption("error", read(session)).title
    inputs, targets = session.trainer.batches.at(0)
    off = np.abs(session.network(inputs)[2] - targets[2]).max()
    if outputs > 4:
        assert words.endswith(f"the loss is {said(session.loss)}.")
    else:
        assert f" {said(float(off))} " in words


def test_it_says_what_runs_in(colours: sv.Session) -> None:
    digits = sv.Session(sv.Network([64, 10], seed=0), data.Digits(), engine="python")
    said = [tour_caption("forward", read(s)).title.split()[1] for s in (colours, digits, xor())]
    assert said == ["colour", "picture", "sample"]


def test_the_picture_says_one_sentence_a_part(colours: sv.Session) -> None:
    stage, words = Stage(colours), []
    colours.advance(6, "operation")
    for part in (*PARTS, ""):
        stage.part_of_tour = part
        caption = stage.frame_data().words.caption
        assert caption is not None
        words.append(caption.title)
        assert bool(caption.formula) == (part == "")
    assert len(set(words)) == len(words) == 7
    assert all(len(each) < 72 for each in words[:6]), "they stand in one line"
