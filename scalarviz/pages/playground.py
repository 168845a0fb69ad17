"""The playground: a page in which a visitor builds the network that trains in it.

It makes any network of dense layers by itself, from kernels and tables of `playground_data`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from scalarviz.base import __version__
from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import text, texts
from scalarviz.core.formulas.metric_formulas import LOSS
from scalarviz.pages.bundle import bundle, html, packed_bytes, texts_of
from scalarviz.pages.exhibit_data import exhibit_data, metric_data
from scalarviz.pages.page import (
    Page,
    first_style,
    loader,
    markup_of_page,
    module_text,
    rules_in,
    rules_of_page,
    said_in,
    spec_of,
)
from scalarviz.pages.playground_data import playground_data
from scalarviz.pages.scene_data import scene_data
from scalarviz.stage.neuron_maps import SIDES
from scalarviz.stage.show import Show

BAND = '<section class="band"'  # the parts of build.html are in front of it
# The keyboard reaches the curve and the buttons of the head behind all others.
LAST = re.compile(r'<(?:nav id="takes"|section class="band").*?</(?:nav|section)>\n', re.DOTALL)
SPOKEN = '<p class="unseen" id="spoken"'
SPEED = 40  # initial steps per second


def playground_page(make: Callable[..., Show], theme: str = "") -> Page:
    """Return the playground as a page.

    Args:
        make: returns the show of a network for settings: of the scene `circle`
        theme: "dark", "light", or "" for the theme of the reader's system
    """
    module, tables = playground_data(make)
    script = bundle("playground.js", module_text)
    own = {"chart.held_out": text("build.held_out.loss"), "chart.start": text("build.start")}
    own |= {
        "exhibits.plane.held_out": text("build.held_out"),
        "card.neuron.sample": text("build.dot"),
    }
    data = {
        "build": {
            "tables": tables,
            "base": base_of(make(engine="python"), theme),
            "kernels": sha256(module).hexdigest()[:6],
            "challenges": json.loads(text_beside(__file__, "challenges.json")),
        },
        "worker": bundle("worker.js", module_text),
        "texts": texts_of(script, {**texts(), **own}),
    }
    parts = "".join(text_beside(__file__, name) for name in ("build.html", "challenge.html"))
    markup = markup_of_page().replace(BAND, parts + BAND)
    for part in reversed(LAST.findall(markup)):
        markup = markup.replace(part, "").replace(SPOKEN, part + SPOKEN)
    words = {"title": text("build.title"), "task": text("build.task"), "about": text("build.about")}
    words |= {"minus": text("legend.minus"), "plus": text("legend.plus")}
    page = html(
        markup,
        words | said_in(markup) | {"version": __version__},
        first_style(),
        script,
        loader(),
        data,
        {"module": packed_bytes(module)},
        {"links": ""},
        rules=rules_of_page() + rules_in("build.css", "challenge.css"),
    )
    return Page(page.encode("utf-8", "replace"), len(module))


def base_of(show: Show, theme: str) -> dict[str, Any]:
    """Return the data of the page of a show, without its engine, memory and layouts."""
    session = show.session
    scene = {**scene_data(show, [1.0]), "layouts": [], "shapes": [], "walls": []}
    del scene["chain"]  # build.js lays out the network of a visitor
    scene["maps"]["side"] = SIDES[0]  # of all networks on offer, on the engine of pages
    spec = spec_of(show, theme, scene, exhibit_data(session))
    measured = metric_data(session, spec["facts"]["loss"])
    assert measured is not None
    (loss,) = (each for each in measured.shown["series"] if not each["share"])
    spec["engine"] = {"metrics": {**measured.engine, "names": [LOSS]}}
    series = {"series": [{**loss, "name": text("build.held_out.loss")}]}
    spec["page"] |= {"measured": series, "speed": SPEED, "title": text("build.title")}
    return spec
