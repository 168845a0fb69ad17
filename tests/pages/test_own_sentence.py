"""What a page says about an input of the user's own is what a window says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import texts
from scalarviz.stage.handles import caption_of_custom
from tests.pages.in_web import in_web
from tests.pages.walks import spec_of

ENGLISH = json.loads(Path(texts.__file__).with_name("english.json").read_text(encoding="utf-8"))
SENTENCE = """
    setTexts(data.english);
    const state = {inputs: data.inputs, values: {[data.say.outputs]: data.outputs}};
    return sentenceOfOwn(data.say, state, "your point");
"""


def session_of(made: Any, sizes: list[int]) -> sv.Session:
    return sv.Session(sv.Network(sizes, "tanh", seed=0), made, engine="python")


ROWS = np.zeros((2, 3))


@pytest.mark.parametrize(
    "session",
    [
        session_of(data.Xor(), [2, 3, 1]),
        session_of(data.Rgb("invert"), [3, 4, 3]),
        session_of((ROWS, ROWS[:, :1]), [3, 2, 1]),
        session_of((ROWS, ROWS[:, :2]), [3, 2, 2]),
    ],
)
def test_it_names_the_numbers_that_have_names(session: sv.Session) -> None:
    program = session.network.program
    inputs, outputs = np.full(program.inputs.size, 0.25), np.full(program.outputs.size, -0.34)
    window = caption_of_custom(session, inputs, outputs).title
    given, answer = window.removeprefix("You put in ").removesuffix(".").split(". It answers ")
    say = spec_of(session)["say"]
    page = in_web(
        "handles texts", SENTENCE, english=ENGLISH, say=say, inputs=inputs, outputs=outputs
    )
    assert page == f"Your point: {given}. The network answers {answer}."
