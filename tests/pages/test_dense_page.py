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
from tests.pages.node import floats, in_web
from tests.pages.test_build_links import chosen
from tests.pages.test_dense_image import show_of

make = load(find("circle"))
SCRIPT = """
setTexts(data.texts);
return data.cases.map((settings) => {
  const { spec, held } = specOf(data.base, data.tables, settings);
  const { arrays, initial, metrics } = spec.engine;
  return { ...spec, engine: { initial, metrics }, held };
});
"""
LAID = "layouts", "shapes", "walls"  # made by another module


def data_of(show: Any) -> Any:
    """The data that Python writes, without layouts."""
    session = show.session
    facts = caption_data(session)
    facts["optimizers"] = [
        captions_of(each, mixed=False) for each in training_of(session.trainer, 0).optimizers
    ]
    metrics = metric_data(session, facts["loss"])
    assert metrics is not None
    found = {
        "engine": {"initial": initial_data(session.network), "metrics": metrics.engine},
        "scene": {key: each for key, each in scene_data(show).items() if key not in LAID},
        "facts": facts,
        "page": {"title": show.title, "about": show.about, "exhibit": exhibit_data(session)},
    }
    found["scene"]["maps"]["side"] = 32  # of all these networks on the engine of pages
    found["scene"]["frozen"] = [0] * len(session.network.bank)
    return json.loads(json.dumps(found))


@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_a_page_says_of_a_network_what_python_says(count: int) -> None:
    choose = random.Random(count)
    cases = [
        chosen(choose)
        | {"l1": choose.choice([0.0, 0.001]), "l2": choose.choice([0.0, 0.1]), "points": ""}
        for _ in range(count)
    ]
    shows = [show_of(each) for each in cases]
    tables = playground_data(make).tables
    made = in_web(
        "dense_page texts", SCRIPT, base=data_of(make(engine="python")), tables=tables,
        cases=cases, texts=texts(),
    )  # fmt: skip
    for show, found in zip(shows, made, strict=True):
        inputs, targets = found.pop("held")
        assert found == data_of(show)
        held = show.session.data.held_out
        np.testing.assert_array_equal(floats(inputs), held[0].ravel())
        np.testing.assert_array_equal(floats(targets), held[1].ravel())
