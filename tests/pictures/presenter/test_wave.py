"""Wave: each step has its light, or one in so many."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.lights import lights
from scalarviz.scene.pace import EACH_WAVE, WAVE
from scalarviz.stage.motion import Wave, plain_count
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.stage import Stage
from tests.pages.in_web import in_web
from tests.waiting import until

FRAME = 1.0 / 60.0


def played(rate: float, seconds: float = 4.0) -> list[tuple[float | None, int]]:
    """The parts of waves, and how many steps each stands for, at each picture."""
    wave, found = Wave(), []
    for frame in range(int(seconds / FRAME)):
        now = frame * FRAME
        found.append((wave.at(int(now * rate), now), wave.every))
    return found


def begun(found: list[tuple[float | None, int]]) -> int:
    """How many waves began."""
    return sum(part == 0.0 for part, _ in found)


@pytest.mark.parametrize("rate", [1.0, 3.0, 5.0, 10.0])
def test_each_step_has_a_wave(rate: float) -> None:
    found = played(rate)[60:]
    assert begun(found) == pytest.approx(3.0 * rate, abs=1)
    assert {every for _, every in found} <= {0, 1}
    longest = min(WAVE, 2.0 / rate)
    lit = [part is not None for part, _ in found]
    assert 0.3 * longest < np.mean(lit) / rate <= 1.0 / rate


@pytest.mark.parametrize(("rate", "every"), [(30.0, 20), (100.0, 80), (1000.0, 800), (45e3, 36000)])
def test_of_many_steps_one_in_so_many_is_shown(rate: float, every: int) -> None:
    found = played(rate)[120:]
    assert all(each == pytest.approx(every, rel=0.15) for _, each in found)
    assert begun(found) == pytest.approx(2.0 / WAVE, abs=1)
    parts = [part for part, _ in found if part is not None]
    assert len(parts) > 0.9 * len(found) and max(parts) > 0.9


def test_after_a_jump_or_a_pause_there_is_none() -> None:
    wave = Wave()
    for frame in range(60):
        wave.at(frame // 6, frame * FRAME)
    assert wave.every == 1 and wave.at(3, 1.0) is None and wave.every == 0
    for frame in range(60):
        wave.at(frame // 6, 2.0 + frame * FRAME)
    assert wave.every == 1 and wave.at(20, 9.0) is None and wave.every == 0


def test_counts_are_said_in_round_numbers() -> None:
    assert [plain_count(each) for each in (10.2, 19.4, 23, 96, 127, 1249, 123456)] == [
        10, 19, 20, 100, 130, 1200, 120000,
    ]  # fmt: skip


def test_light_runs_forward_and_then_back() -> None:
    net = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    s = sv.Session(net, sv.data.Rgb("invert"), "mse", batch=8)
    layout, program = layout_of(s), net.program
    seen = []
    for part in np.linspace(0.02, 0.98, 49).tolist():
        lit = lights(layout, program, None, 1.0, None, 1.0, part)
        assert (lit.plates == 1.0).all() and (lit.white == 0.0).all() and (lit.neurons == 1.0).all()
        glows = [(layout.wires[j].operation, each.back) for j, each in enumerate(lit.wires) if each]
        assert len({operation for operation, _ in glows}) <= 1
        seen += [(operation, any(back for _, back in glows)) for operation, _ in glows[:1]]
    first, last = (i for i, each in enumerate(program.operations) if each.kind == "affine")
    assert [*dict.fromkeys(seen)] == [(first, False), (last, False), (last, True), (first, True)]
    rest = lights(layout, program, None, 1.0)
    assert not any(rest.wires)


def test_a_stage_shows_it_while_whole_steps_play_and_says_how_many() -> None:
    net = sv.Network([3, 4, 3], "tanh", "sigmoid", seed=0)
    s = sv.Session(net, sv.data.Rgb("invert"), "mse", batch=8, engine="python")
    stage, now, lit = Stage(s), [0.0], [False]

    def look() -> tuple[float | None, str]:
        now[0] += FRAME
        moving = stage.tick(now[0])
        assert moving or not lit[0]  # then the next picture is asked for
        seen = stage.frame_data()
        lit[0] = seen.wave is not None
        return seen.wave, str(seen.words.caption)

    s.play(None)
    until(lambda: look()[0] is not None and "th step is shown" in look()[1])
    s.pause()
    assert look()[0] is None and stage._wave.every == 0
    calm = Stage(s, reduced_motion=True)
    s.play(None)
    for frame in range(30):
        calm.tick(frame * FRAME)
        assert calm.frame_data().wave is None
    s.pause()


def test_a_page_has_the_same_waves() -> None:
    for rate in (3.0, 10.0, 30.0, 700.0):
        times = [frame * FRAME for frame in range(200)]
        found = in_web(
            "motion",
            """
            const wave = new Wave(data.pace);
            return data.times.map((time, i) => [wave.at(data.steps[i], time), wave.every]);
            """,
            times=times,
            steps=[int(time * rate) for time in times],
            pace={"eachWave": EACH_WAVE, "wave": WAVE, "ofRate": 1.0},
        )
        ours = played(rate, 200.5 * FRAME)
        for (part, every), (one, other) in zip(found, ours, strict=True):
            assert every == other and part == (None if one is None else pytest.approx(one))
