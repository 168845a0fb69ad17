"""Captions of what a page's engine computes, against those of a session in Python."""

import json
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz import data
from tests.pages.pages import InPage
from tests.pages.walks import Walk, expected, plain, questions, spec_of

WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()

WALK = f"""
    const {{ captionOf }} = await import("{WEB}/captions.js");
    const {{ cardOf }} = await import("{WEB}/cards.js");
    const {{ setTexts }} = await import("{WEB}/texts.js");
    setTexts(own.texts);
    const makers = {{ caption: captionOf, card: cardOf }};
    const clock = new Clock(engine);
    return Array.from({{ length: count }}, () => {{
      clock.advance(1, "operation");
      const state = clock.state();
      return asked.map(([name, target]) => makers[name](own, state, target));
    }});
"""


def xor() -> sv.Session:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0, dtype="float64")
    return sv.Session(network, data.Xor(), optimizer=sv.Adam(0.1), batch=4, engine="cpu")


@pytest.mark.slow
def test_captions_of_the_engine_are_those_of_a_session(tmp_path: Path) -> None:
    session = xor()
    page, own = InPage(session, tmp_path), spec_of(session)
    asked = [("caption", each) for each in questions(session)]
    asked += [("card", each) for _, each in asked if "row" in each]
    wanted = [
        [expected(session, state, *each) for each in asked] for state in Walk(session).states(3)
    ]
    given = {"own": own, "asked": asked, "count": len(wanted)}
    words = "".join(f"const {name} = {json.dumps(each)};" for name, each in given.items())
    found = page.run(words + WALK)
    for ours, theirs in zip(wanted, found, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            assert plain(mine) == other
