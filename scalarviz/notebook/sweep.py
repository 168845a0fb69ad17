"""A sweep in a notebook: its picture below the cell, drawn anew while it trains."""

from __future__ import annotations

from time import monotonic

from scalarviz.export.render import picture
from scalarviz.export.video import png
from scalarviz.sweeps.sweep import Sweep

BETWEEN = 0.5  # seconds between two pictures


def show_sweep(sweep: Sweep, steps: int, theme: str, size: tuple[int, int], *, play: bool) -> None:
    """Train a sweep and draw it meanwhile; interrupting the cell pauses it.

    steps  number of steps of each training
    play   False: only draw it as it is
    """
    from IPython.display import Image, display

    named = "dark" if theme == "auto" else theme

    def drawn() -> Image:
        return Image(png(picture(sweep, size=size, theme=named)), width=size[0])  # type: ignore[no-untyped-call]  # of IPython

    place = display(drawn(), display_id=True) if sweep.progressed.done else None  # type: ignore[no-untyped-call]  # of IPython
    last = 0.0
    if play:
        for now in sweep.train(steps):
            if monotonic() - last < BETWEEN and now.done < now.total:
                continue
            last = monotonic()
            if place is None:
                place = display(drawn(), display_id=True)  # type: ignore[no-untyped-call]  # of IPython
            else:
                place.update(drawn())
