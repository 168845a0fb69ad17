"""Captions of what a page's engine computes, against those of a session in Python."""

import json
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.pages.caption_data import optimizer_data
from scalarviz.pages.engine_data import training_of
from tests.pages.pages import InPage
from tests.pages.walks import Walk, expected, plain, questions, spec_of

WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()

MAKERS = f"""
    const {{ captionOf }} = await import("{WEB}/captions.js");
    const {{ cardOf }} = await import("{WEB}/cards.js");
    const {{ setTexts }} = await import("{WEB}/texts.js");
    setTexts(own.texts);
    const makers = {{ caption: captionOf, card: cardOf }};
    const clock = new Clock(engine);
    const said = (state) => asked.map(([name, target]) => makers[name](own, state, target));
"""
WALK = f"""{MAKERS}
    return Array.from({{ length: count }}, () => {{
      clock.advance(1, "operation");
      return said(clock.state());
    }});
"""


def near(found: Any) -> Any:
    """What is said, with numbers to twelve digits: sums differ in their last bits."""
    if isinstance(found, dict):
        return {key: near(each) for key, each in found.items()}
    if isinstance(found, list):
        return [near(each) for each in found]
    return float(f"{found:.12g}") if isinstance(found, float) else found


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
            assert near(plain(mine)) == near(other)


AFTER = {  # what is chosen after a step, in a page and in Python
    "rate": (
        "clock.change({ kind: 'rate', rate: 0.25 })",
        lambda s: s.__setattr__("learning_rate", 0.25),
    ),
    "adam": (
        "clock.change({ kind: 'optimizer', number: 1 })",
        lambda s: s.__setattr__("optimizer", sv.Adam()),
    ),
}


@pytest.mark.parametrize("name", AFTER)
@pytest.mark.slow
def test_a_step_is_explained_by_what_made_it_whatever_is_chosen_after_it(
    tmp_path: Path, name: str
) -> None:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0, dtype="float64")
    session = sv.Session(network, data.Xor(), optimizer=sv.SGD(0.5), batch=4, engine="cpu")
    page, own = InPage(session, tmp_path), spec_of(session)
    optimizers = training_of(session.trainer, 0).optimizers
    own["say"]["optimizers"] = [optimizer_data(each, mixed=False) for each in optimizers]
    asked = [("caption", {"row": 5}), ("card", {"row": 5})]
    change, do = AFTER[name]
    given = f"const own = {json.dumps(own)}, asked = {json.dumps(asked)};"
    found = page.run(f"""{given}
        {MAKERS}
        const walk = (operations) => {{
          for (let i = 0; i < operations; i++) clock.advance(1, "operation");
          return said(clock.state());
        }};
        walk(2 * clock.operations);
        {change};
        return [said(clock.state()), walk(clock.operations)];
    """)
    walk = Walk(session)
    [*_, state] = walk.states(2)
    do(session)
    wanted = [plain(expected(session, state, *each)) for each in asked]
    assert found[0] == wanted
    [*_, state] = walk.states(1)
    assert found[1] == [plain(expected(session, state, *each)) for each in asked]
