"""The data that a page makes for a network, compared with what Python writes."""

import json
import random
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import texts
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.caption_data import optimizer_data as captions_of
from scalarviz.pages.engine_data import initial_data, training_of
from scalarviz.pages.exhibit_data import exhibit_data, metric_data
from scalarviz.pages.playground_data import playground_data
from scalarviz.pages.scene_data import scene_data
from scalarviz.story.build_link import task_of, write_build
from tests.pages.node import as_list, floats, in_web
from tests.pages.test_build_links import chosen
from tests.pages.test_dense_image import show_of

make = load(find("circle"))
SCRIPT = """
setTexts(data.texts);
return Promise.all(data.links.map(async (link) => {
  const { settings } = await readBuild(link);
  const { spec, held } = specOf(data.base, data.tables, settings);
  const { arrays, initial, metrics, shown } = spec.engine;
  return { ...spec, engine: { initial, metrics, shown }, held };
}));
"""
LAID = "layouts", "shapes", "walls", "chain"  # made by another module


def data_of(show: Any) -> Any:
    """The data that Python writes, without layouts."""
    session = show.session
    facts = caption_data(session)
    facts["optimizers"] = [
        captions_of(each, mixed=False) for each in training_of(session.trainer, 0).optimizers
    ]
    metrics = metric_data(session, facts["loss"])
    measured = {}
    if metrics is not None:  # a playground measures the loss alone
        measured["metrics"] = {**metrics.engine, "names": ["loss"]}
    first = session.data.first_shown
    found = {
        "engine": {"initial": initial_data(session.network), "shown": first, **measured},
        "scene": {key: each for key, each in scene_data(show).items() if key not in LAID},
        "facts": facts,
        "page": {
            "title": show.title,
            "about": show.about,
            "exhibit": exhibit_data(session),
            "tint": session.data.input_tint,
        },
    }
    found["scene"]["maps"]["side"] = 32  # of all these networks on the engine of pages
    found["scene"]["frozen"] = [0] * len(session.network.bank)
    return json.loads(json.dumps(found, default=as_list))


@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_a_page_says_of_a_network_what_python_says(count: int) -> None:
    choose = random.Random(count)
    cases = [
        chosen(choose)
        | {
            "l1": choose.choice([0.0, 0.001]),
            "l2": choose.choice([0.0, 0.1]),
            "points": "",
            "colours": "",
        }
        for _ in range(count)
    ]
    shows = [show_of(each) for each in cases]
    tables = playground_data(make).tables
    made = in_web(
        "dense_page packed_link texts", SCRIPT, base=data_of(make(engine="python")),
        tables=tables, links=[*map(write_build, cases)], texts=texts(),
    )  # fmt: skip
    for case, show, found in zip(cases, shows, made, strict=True):
        inputs, targets = found.pop("held")
        wanted = data_of(show)
        is_colours = task_of(case) == "colours"
        if case["table"] or is_colours:  # the page has other words
            found["page"] |= {name: wanted["page"][name] for name in ("title", "about")}
        if case["table"]:  # it names both classes
            sides = found["page"]["exhibit"].pop("sides")
            assert sides == (case["classes"] if len(case["classes"]) == 2 else [])
            wanted["page"]["exhibit"].pop("sides", None)
        assert found == wanted
        held = (np.zeros(0),) * 2 if is_colours else show.session.data.held_out
        np.testing.assert_array_equal(floats(inputs), held[0].ravel())
        np.testing.assert_array_equal(floats(targets), held[1].ravel())
