"""Controls of several sessions that are shown side by side."""

from __future__ import annotations

from typing import Any

from scalarviz.faces.controller.control import Control


def set_together(group: Any, on: bool) -> None:
    group.set_together(on)


def choose(group: Any, name: str) -> None:
    group.choose(name)


GROUP_CONTROLS = [
    Control(
        "together",
        "tick",
        "Play, step, go back and change rates with all sessions, or with the chosen one",
        set_together,
        lambda state: state.together,
        primary=True,
        text="Together",
        key="j",
        help="all sessions together, or the chosen one alone",
        acts_on="group",
        several=True,
    ),
    Control(
        "session",
        "choice",
        "The session that commands on one session mean",
        choose,
        lambda state: state.name,
        names=lambda state: state.names,
        label="Session",
        key="n",
        help="choose the next session",
        acts_on="group",
        several=True,
    ),
]
