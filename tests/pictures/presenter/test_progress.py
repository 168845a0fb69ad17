"""The sentence of a training that plays."""

from types import SimpleNamespace
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.pictures.presenter.captions.progress import Progress, progress_of
from scalarviz.pictures.presenter.live_values import LiveValues
from tests.pages.in_web import in_web
from tests.pages.walks import spec_of


class Losses:
    """A branch that knows losses."""

    def __init__(self, losses: list[float]) -> None:
        self.losses = losses

    def losses_between(self, start: int, end: int) -> list[float]:
        return self.losses[start:end]


def read(losses: list[float], verdict: str) -> Any:
    """A reading after so many steps."""
    clock = SimpleNamespace(step=len(losses))
    here = SimpleNamespace(clock=clock, branch=Losses(losses), loss=losses[-1])
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


def test_a_minute_of_play_has_a_new_sentence_every_two_seconds(colours: sv.Session) -> None:
    reading, progress, said = LiveValues(colours), Progress(), []
    for second in range(60):
        colours.advance(4)
        reading.refresh()
        said.append(progress.at(float(second), reading))
    assert said[0].startswith("Step 4: 0 of 8 colours are nearly right; the loss ")
    assert len(set(said)) == 30 and said[::2] == said[1::2]
    assert said[-1].endswith(" since step 118.") and said[-1].startswith("Step 236: ")
    progress.rest()
    assert progress.at(59.0, reading).startswith("Step 240: ")


@pytest.mark.parametrize("verdict", ["3 of 4 are right", ""])
def test_it_says_how_the_loss_has_changed_and_a_page_says_the_same(
    verdict: str, colours: sv.Session
) -> None:
    runs = [[1.0] * 50 + [change] * 50 for change in CHANGES]
    runs += [[0.5], [0.5, float("nan")], [0.0, 0.0], [0.123456] * 2500]
    said = [progress_of(read(losses, verdict)) for losses in runs]
    start = verdict or "the loss is {}"
    for words, (change, how) in zip(said, CHANGES.items(), strict=False):
        it = "the loss" if verdict else "it"
        assert words == f"Step 100: {start.format(f'{change:.3g}')}; {it} {how} since step 50."
    assert said[len(CHANGES)] == f"Step 1: {start.format(0.5)}."
    assert said[-1].startswith("Step 2,500: ") and said[-1].endswith(" since step 1,250.")
    spec = spec_of(colours)
    body = """
        setTexts(data.spec.texts);
        return data.runs.map((each) => {
            const [losses, known] = [new LossRecord(), each.map(Number)];
            losses.write(0, known);
            const state = { step: known.length, loss: known.at(-1) };
            return new Progress(data.spec.say.progress).at(0, state, losses, () => data.verdict);
        });
    """
    given = [[str(loss) if loss != loss else loss for loss in losses] for losses in runs]
    pages = in_web("progress loss_record texts", body, spec=spec, runs=given, verdict=verdict)
    assert pages == said


def test_a_page_holds_its_sentence_for_two_seconds(colours: sv.Session) -> None:
    body = """
        setTexts(data.spec.texts);
        const [progress, losses] = [new Progress(data.spec.say.progress), new LossRecord()];
        const at = (now, step) => progress.at(now, { step, loss: 1 }, losses, () => "");
        const said = [at(0, 10), at(1.9, 20), at(2, 30)];
        progress.rest();
        return [...said, at(2.1, 40)];
    """
    said = in_web("progress loss_record texts", body, spec=spec_of(colours))
    assert [words.split(":")[0] for words in said] == ["Step 10", "Step 10", "Step 30", "Step 40"]
