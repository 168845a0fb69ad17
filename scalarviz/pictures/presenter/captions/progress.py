"""The sentence of a training that plays: how much is right, and how the loss has changed."""

from __future__ import annotations

import math

import numpy as np

from scalarviz.base.texts import text
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.training.session.timeline import Position

MEAN = 20  # losses whose mean is compared
OF_THE_LOSS = "edit", "numbers", "data", "samples", "loss", "activation"  # actions that change it
# Texts of changes of the loss, by the largest ratio to that of about half as many steps.
CHANGES = {"tenth": 0.13, "quarter": 0.35, "half": 0.6, "third": 0.8, "less": 0.97, "same": 1.03}


def changed_at(here: Position) -> int:
    """Return the first step whose loss is computed after the last change of a user; 0 without."""
    place, branch = here.clock.place, here.branch
    coming = branch.actions_at(place)[here.clock.actions :]
    done = (each for each in reversed(branch.journal) if each.place <= place and each not in coming)
    changes = (each for each in done if each.kind in OF_THE_LOSS)
    return next((each.step + (each.operation > 0) for each in changes), 0)


def progress_of(reading: LiveValues) -> str:
    """Return how many samples are right, else the loss, and how the loss has changed."""
    here = reading.here
    step, verdict = here.clock.step, reading.learned.verdict() if reading.learned else ""
    if not (step or verdict):
        return text("captions.before")
    words = verdict or text("captions.playing.loss", loss=f"{here.loss:.3g}")
    first = changed_at(here)
    half = max(0, step - first) // 2
    unit = 10 ** (len(str(half)) - 1)
    since = first + half // unit * unit  # of one digit: it stays for a while
    count = min(MEAN, since - first)
    if count:
        ends = [here.branch.losses_between(end - count, end) for end in (since, step)]
        earlier, now = (float(np.mean(each)) for each in ends)
        if math.isfinite(now) and earlier > 0.0:
            way = next((name for name, most in CHANGES.items() if now <= most * earlier), "more")
            it = text(f"captions.playing.it.{'verdict' if verdict else 'loss'}")
            words = text(f"captions.playing.since.{way}", said=words, it=it, since=since)
    return text("captions.playing", step=step, said=words)
