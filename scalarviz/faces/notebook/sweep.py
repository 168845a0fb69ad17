"""A sweep in a notebook: its picture below the cell, drawn anew while it trains."""

from __future__ import annotations

from time import monotonic
from typing import Any

from scalarviz.stage.encoders import png
from scalarviz.stage.render import picture
from scalarviz.stage.sweep_look import SweepLook
from scalarviz.sweeps.sweep import Sweep

BETWEEN = 0.5  # seconds between two pictures


def show_sweep(
    sweep: Sweep,
    steps: int,
    theme: str,
    size: tuple[int, int],
    look: SweepLook | None = None,
    *,
    play: bool,
) -> None:
    """Train a sweep and draw it meanwhile; interrupting the cell pauses it.

    steps  number of steps of each training
    look   how the sweep is drawn
    play   False: only draw it as it is
    """
    from IPython.display import Image, display

    seen = look or SweepLook()
    place: Any = None

    def draw() -> None:
        nonlocal place
        frame = picture(
            sweep, size=size, theme="light" if theme == "auto" else theme, networks=seen.networks,
            order=seen.order, group=seen.group, against=seen.against,
        )  # fmt: skip
        image = Image(png(frame), width=size[0])  # type: ignore[no-untyped-call]  # of IPython
        if place is None:
            place = display(image, display_id=True)  # type: ignore[no-untyped-call]  # of IPython
        else:
            place.update(image)

    last = 0.0
    if sweep.progressed.done:
        draw()
    if play:
        for now in sweep.train(steps):
            if monotonic() - last >= BETWEEN or now.done == now.total:
                last = monotonic()
                draw()
