"""Captions of what a page's engine computes, against those of a session in Python."""

import json
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz import data
from tests.pages.pages import InPage
from tests.pages.walks import Walk, expected, plain, questions, spec_of

WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()

# The numbers of the whole batch, which captions take from a state that has them.
WALK = f"""
    const {{ captionOf }} = await import("{WEB}/captions.js");
    const {{ setTexts }} = await import("{WEB}/texts.js");
    setTexts(own.texts);
    const clock = new Clock(engine);
    const samples = () => [...Array(engine.batch).keys()];
    const joined = (arrays) => Float64Array.from(arrays.flatMap((each) => [...each]));
    const of = (names, read) =>
      Object.fromEntries(names.map((name) => [name, joined(samples().map((i) => read(name, i)))]));
    let gradBefore = null;
    let seen = null;
    const more = (state) => {{
      if (state.operation === 1) seen = null;
      if (state.operation) {{
        const targets = joined(samples().map((i) => engine.sample(i).targets));
        const names = Object.keys(state.values);
        seen = {{
          values: of(names, (name, i) => engine.values(name, i)),
          gradients: of(Object.keys(state.gradients), (name, i) => engine.gradients(name, i)),
          targets,
        }};
        return {{ all: seen, gradBefore }};
      }}
      const inputs = joined(samples().map((i) => engine.sample(i).inputs));
      const fresh = engine.evaluate(engine.value.constructor.from(inputs), engine.batch);
      return {{ all: seen, gradBefore, fresh }};
    }};
    return Array.from({{ length: count }}, () => {{
      if (clock.operation === 0) gradBefore = engine.grad.slice();
      clock.advance(1, "operation");
      const state = clock.state();
      const given = {{ ...state, ...more(state) }};
      return asked.map((each) => captionOf(own, given, each));
    }});
"""


def xor() -> sv.Session:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=0, dtype="float64")
    return sv.Session(network, data.Xor(), optimizer=sv.Adam(0.1), batch=4, engine="cpu")


@pytest.mark.slow
def test_captions_of_the_engine_are_those_of_a_session(tmp_path: Path) -> None:
    session = xor()
    page, asked, own = InPage(session, tmp_path), questions(session), spec_of(session)
    wanted = [
        [expected(session, state, "caption", each) for each in asked]
        for state in Walk(session).states(3)
    ]
    given = {"own": own, "asked": asked, "count": len(wanted)}
    words = "".join(f"const {name} = {json.dumps(each)};" for name, each in given.items())
    found = page.run(words + WALK)
    for ours, theirs in zip(wanted, found, strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            assert plain(mine) == other
