"""The network of a session as a fragment shader of a page: its text, and what its texture holds."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from scalarviz.errors import InputError
from scalarviz.files.shaders.live import FOURS_READER, MAP, live_shader, map_fragment
from scalarviz.pages.scene_data import plain
from scalarviz.pictures.view.glsl_es import as_es
from scalarviz.training.session.session import Session

MOST_WEIGHTS = 2**17  # of a network that a page evaluates for each pixel
MOST_HELD = 2**11  # numbers of one sample, which a graphics card holds for each pixel


def network_shader(session: Session) -> dict[str, Any] | None:
    """Return what draws the network's answers as a picture; None if only the engine can."""
    net = session.network
    large = len(net.bank) > MOST_WEIGHTS or net.program.workspace > MOST_HELD
    if large or session.trainer.settings.precision.mixed:  # which rounds weights as the engine does
        return None
    try:
        shader = live_shader(net, aligned=True)
        fragment = map_fragment(net.program, shader, FOURS_READER)
    except InputError:  # a layer or formula that shaders do not have
        return None
    return {
        "vertex": plain(as_es(MAP[0], fragment=False)),
        "fragment": plain(as_es(fragment, fragment=True)),
        "places": [astuple(place) for place in shader.places],
    }
