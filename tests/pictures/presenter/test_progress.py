"""The sentence of a training that plays."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.stage.live_values import LiveValues
from scalarviz.story.captions import progress_of
from scalarviz.training.session.branches import Clock
from tests.pages.in_web import in_web
from tests.pages.walks import spec_of


class Losses:
    """A branch that knows losses."""

    journal: Sequence[Any] = ()
    actions_at = staticmethod(lambda place: [])

    def __init__(self, losses: list[float]) -> None:
        self.losses = losses

    def losses_between(self, start: int, end: int) -> list[float]:
        return self.losses[start:end]


def read(losses: list[float], verdict: str) -> Any:
    """A reading after so many steps."""
    clock = Clock(len(losses))
    here = SimpleNamespace(
        clock=clock, branch=Losses(losses), loss=losses[-1] if losses else float("nan")
    )
    return SimpleNamespace(here=here, learned=SimpleNamespace(verdict=lambda: verdict))


CHANGES = {
    0.1: "has fallen to a tenth",
    0.3: "has fallen to a quarter",
    0.5: "has halved",
    0.66: "has fallen by a third",
    0.9: "has fallen a little",
    1.0: "hardly changes",
    1.5: "has risen",
}


def test_the_sentence_is_of_the_numbers_that_are_shown(colours: sv.Session) -> None:
    reading = LiveValues(colours)
    assert progress_of(reading) == "No step is done yet."
    reading.refresh()
    assert progress_of(reading) == "Step 0: 0 of 8 colours are nearly right."
    for step in range(4, 240, 4):
        colours.advance(4)
        reading.refresh()
        half = step // 2
        since = half if half < 10 else half // 10 * 10 if half < 100 else 100
        assert reading.learned is not None
        start = f"Step {step}: {reading.learned.verdict()}; the "
        assert progress_of(reading).startswith(start)
        assert progress_of(reading).endswith(f" since step {since}.")


def test_losses_from_before_a_change_are_not_compared(colours: sv.Session) -> None:
    colours.advance(300)
    colours.edit(3, 9.0)
    colours.learning_rate = 0.2
    reading = LiveValues(colours)
    for step, since in ((300, None), (301, None), (302, 301), (306, 303), (330, 310)):
        colours.advance(step - colours.step_index)
        reading.refresh()
        found = progress_of(reading)
        assert found.endswith(f" since step {since}." if since else "colours are nearly right.")
    colours.seek(300)
    reading.refresh()
    assert progress_of(reading).endswith(" since step 100.")


@pytest.mark.parametrize("verdict", ["3 of 4 are right", ""])
def test_it_says_how_the_loss_has_changed_and_a_page_says_the_same(
    verdict: str, colours: sv.Session
) -> None:
    runs = [[1.0] * 50 + [change] * 50 for change in CHANGES]
    runs += [[0.5], [], [0.5, float("nan")], [0.0, 0.0], [0.123456] * 2500]
    said = [progress_of(read(losses, verdict)) for losses in runs]
    start = verdict or "the loss is {}"
    for words, (change, how) in zip(said, CHANGES.items(), strict=False):
        it = "the loss" if verdict else "it"
        assert words == f"Step 100: {start.format(f'{change:.3g}')}; {it} {how} since step 50."
    assert said[len(CHANGES)] == f"Step 1: {start.format(0.5)}."
    assert said[-1].startswith("Step 2,500: ") and said[-1].endswith(" since step 1,000.")
    spec = spec_of(colours)
    body = """
        setTexts(data.spec.texts);
        return data.runs.map((each) => {
            const [losses, known] = [new LossRecord(), each.map(Number)];
            losses.write(0, known);
            const state = { step: known.length, loss: known.at(-1) ?? NaN };
            return progressOf(data.spec.say.progress, state, losses, data.verdict);
        });
    """
    given = [[str(loss) if loss != loss else loss for loss in losses] for losses in runs]
    pages = in_web("captions loss_record texts", body, spec=spec, runs=given, verdict=verdict)
    assert pages == said
