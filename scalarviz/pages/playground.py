"""The playground: a page in which a visitor builds the network that trains in it.

sv.page shows one network; this page makes any network of dense layers itself, with kernels for
all offered activations and optimizers.
"""

from __future__ import annotations

from typing import Any

from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import text, texts
from scalarviz.pages.bundle import bundle, html, packed_bytes, texts_of
from scalarviz.pages.page import (
    SAY,
    Page,
    first_style,
    loader,
    markup_of_page,
    module_text,
    rules_in,
    rules_of_page,
    said_in,
)
from scalarviz.base import __version__

BAND = '<section class="band"'  # the parts of build.html are in front of it
OWN = "build.words."  # prefix of texts that replace others in a playground
SETTINGS: dict[str, Any] = {
    "shape": "circle",
    "noise": 0,
    "share": 0.5,
    "seed": 1,
    "features": ["x", "y"],
    "hidden": [4, 2],
    "activation": ["tanh", "tanh"],
    "init": "pytorch",
    "opt": "sgd",
    "lr": 0.03,
    "batch": 10,
    "l1": 0,
    "l2": 0,
}
OFFER = {
    "shapes": "circle spiral gaussians quadrants moons".split(),
    "features": "x y x2 y2 xy sinx siny".split(),
    "activations": "tanh relu sigmoid linear leaky_relu sin".split(),
    "inits": "pytorch xavier_uniform he_uniform zeros".split(),
    "optimizers": "sgd momentum adam".split(),
    "batches": [1, 2, 4, 8, 10, 16, 32, 64],
}


def playground_page(module: bytes, tables: dict[str, Any], theme: str = "") -> Page:
    """Return the playground as a page.

    Args:
        module: a WebAssembly module of all offered kernels
        tables: what web/dense_page.js needs to make the data of a network
        theme: "dark", "light", or "" for the theme of the reader's system
    """
    markup = markup_of_page().replace(BAND, text_beside(__file__, "build.html") + BAND)
    words = said_in(markup) | {"minus": text("legend.minus"), "plus": text("legend.plus")}
    words |= {"title": text("build.title"), "task": text("build.first"), "version": __version__}
    words |= {"about": text("build.about")}
    script = bundle("playground.js", module_text)
    own = {key.removeprefix(OWN): said for key, said in texts().items() if key.startswith(OWN)}
    data = {
        "theme": theme,
        "build": {**OFFER, "settings": SETTINGS, "tables": tables},
        "worker": bundle("worker.js", module_text),
        "texts": texts_of(script, {**texts(), **own}),
    }
    parts, rules = {"module": packed_bytes(module)}, rules_of_page() + rules_in("build.css")
    raw = {"links": ""}
    page = html(markup, words, first_style(), script, loader(), data, parts, raw, rules=rules)
    return Page(page.encode("utf-8", "replace"), len(parts["module"]))
