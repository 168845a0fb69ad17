"""The page of a session that stays in Python: it draws and explains, and asks by a link."""

from __future__ import annotations

from functools import partial
from typing import Any

from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import texts
from scalarviz.engines.wasm.page_memory import buffer_names, moment_data
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.exhibit_data import exhibit_data
from scalarviz.pages.index_page import version
from scalarviz.pages.inline import POLICY, bundle, html, texts_of
from scalarviz.pages.page import (
    first_speed,
    kinds_in,
    loader,
    module_text,
    said_in,
    style_of_page,
)
from scalarviz.pages.scene_data import scene_data
from scalarviz.pages.session_state import earlier_data
from scalarviz.stage.show import Show
from scalarviz.story.first_controls import first_groups
from scalarviz.story.names import came_from

START = "linked.js"
PAGE = "page.html"
# It asks by the link; and has no engine, which would be a worker with WebAssembly.
ALLOWED = {
    **{name: allowed for name, allowed in POLICY.items() if name != "worker-src"},
    "script-src": "{loader} {script}",
    "connect-src": "'self'",
}


def description(show: Show, theme: str = "", *, tour: bool = False) -> dict[str, Any]:
    """Return what a page needs of a show before its first state: `spec` and `texts`, for JSON."""
    session = show.session
    with session.doing():
        program, names = session.network.program, buffer_names(session.network.program)
        exhibit = exhibit_data(session)
        spec = {
            "linked": True,
            "engine": {
                "moments": [moment_data(moment, names) for moment in program.moments],
                "step": 0,
                "sizes": {
                    "batch": session.trainer.batches.size,
                    "inputs": session.network.inputs,
                },
            },
            "scene": scene_data(show),
            "say": caption_data(session),
            "page": {
                "title": show.title,
                "about": show.about,
                "came": came_from(session),
                "theme": theme,
                "speed": first_speed(show),
                "tint": session.data.input_tint,
                "exhibit": exhibit,
                "first": first_groups(),
                "tour": tour,
                "earlier": earlier_data(session),
            },
        }
        spec["say"]["optimizers"] = [spec["say"]["optimizer"]]
    script = bundle(START, partial(module_text, kinds=kinds_in(exhibit)))
    return {"spec": spec, "texts": texts_of(script, texts())}


def linked_page(
    show: Show, link: dict[str, Any], described: dict[str, Any], first: Any = None
) -> str:
    """Return the page as HTML.

    link       how it reaches the session, see web/linked.js
    described  what `description` returns
    first      a state that it shows until Python answers; None, the default: none
    """
    markup = text_beside(__file__, PAGE)
    words = said_in(markup)
    words |= {"title": show.title, "about": show.about, "version": version()}
    script = bundle(START, module_text)  # another scene may have another exhibit
    texts_used = texts_of(script, texts())
    data = {**described, "texts": texts_used, "link": link, "first": first}
    return html(markup, words, style_of_page(), script, loader(), data, {}, {"links": ""}, ALLOWED)
