"""Several sessions in one picture or video.

Common scales, names, and panes that show what a stage shows.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.scales import stop_above
from scalarviz.errors import InputError, ScalarvizError, UnknownNameError
from scalarviz.scene.canvas import palette
from scalarviz.stage.channels import DIFFERENCE
from scalarviz.stage.show import Several
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages, stages_of
from scalarviz.training.session.shared_clock import SharedClock
from tests.sessions import advanced
from tests.studio import Studio
from tests.wording import refused


def rgb(sizes: Sequence[int] = (3, 8, 3), steps: int = 5, **given: Any) -> sv.Session:
    network = sv.Network([*sizes], "tanh", "sigmoid", seed=given.pop("first", 0))
    optimizer = given.pop("optimizer", None) or sv.SGD(0.5)
    given = {"batch": 8, "engine": "python", **given}
    return advanced(sv.Session(network, data.Rgb(levels=4), "mse", optimizer, **given), steps)


def xor(steps: int = 5) -> sv.Session:
    network = sv.Network([2, 4, 1], "tanh", "sigmoid", seed=1)
    return advanced(sv.Session(network, data.Xor(), "mse", sv.SGD(0.5), engine="python"), steps)


def beside(*sessions: sv.Session, **given: Any) -> Stages:
    return stages_of(Several.of(list(sessions)), reduced_motion=True, **given)


def shot(studio: Studio, shown: Any, size: tuple[int, int] = (800, 500)) -> np.ndarray:
    return studio.shoot(lambda: shown.draw(*size, 1.0), *size)


# Names.


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ([{"sizes": (3, 3)}, {}, {"sizes": (3, 8, 8, 3)}], ("3-3", "3-8-3", "3-8-8-3")),
        ([{}, {"optimizer": sv.Adam(0.01)}], ("3-8-3, SGD 0.5", "3-8-3, Adam 0.01")),
        ([{"seed": 3}, {"seed": 4}], ("3-8-3, seed 3", "3-8-3, seed 4")),
        (
            [{}, {"optimizer": sv.SGD(0.1)}, {"batch": 4}],
            ("3-8-3, SGD 0.5, batch 8", "3-8-3, SGD 0.1, batch 8", "3-8-3, SGD 0.5, batch 4"),
        ),
        ([{}, {}], ("3-8-3, 1", "3-8-3, 2")),
        (
            [{}, {"first": 3}, {"optimizer": sv.SGD(5.0)}],
            ("3-8-3, SGD 0.5", "3-8-3, SGD 0.5 (2)", "3-8-3, SGD 5"),
        ),
    ],
)
def test_sessions_are_named_by_what_tells_them_apart(given: Any, names: tuple[str, ...]) -> None:
    several = Several.of([rgb(**each) for each in given])
    assert several.names == names and several.title == " | ".join(names)


def test_names_that_are_given_and_sizes_that_differ_stay() -> None:
    assert Several.of({"small": rgb((3, 3)), "large": rgb()}).names == ("small", "large")
    assert Several.of([sv.Show(rgb(), title="mine"), rgb()]).names == ("mine", "3-8-3")
    names = Several.of([rgb(), xor(), rgb(batch=4)]).names
    assert names == ("3-8-3, batch 8", "2-4-1", "3-8-3, batch 4")


def test_branches_are_named_by_their_numbers() -> None:
    session = rgb(steps=6)
    session.back(2)
    session.branch()
    twin = session.copy()
    twin.switch(0)
    several = Several.of([session, twin])
    assert several is not None and several.names == ("3-8-3, branch 1", "3-8-3, branch 0")


def test_what_is_not_some_different_sessions_is_one_sentence() -> None:
    seven, same = [xor() for _ in range(7)], xor()
    one_network = [same, sv.Session(same.network, data.Xor(), engine="python")]
    for given, value in (
        ([], "not 0"),
        ({}, "not 0"),
        (seven, "7"),
        ([same, 3], "number 2 is 3"),
        ([same, "rgb"], "'rgb'"),
        ({"a": seven[0], 3: seven[1]}, "3"),
        ({"": seven[0], "b": seven[1]}, "''"),
        ([same] * 2, "numbers 1 and 2 are the same"),
        (one_network, "numbers 1 and 2"),
    ):
        refused(InputError, value).by(Several.of, given)


# Scales.


def test_all_panes_have_the_scales_that_fit_the_largest_number_of_all() -> None:
    shown = beside(rgb(), rgb(first=3), xor())
    shown.panes[2].session.edit(0, 30.0)
    largest = max(float(np.abs(each.cubes.colors).max()) for each in shown.frame_data())
    assert largest == 30.0 == stop_above(largest)
    shown.rescale(anew=True)
    for pane in shown.frame_data():
        assert set(pane.cubes.color_scales) == set(pane.cubes.size_scales) == {30.0}
        assert pane.cubes.clipped == 0


def test_a_scale_grows_for_all_panes_at_once_and_says_so() -> None:
    shown = beside(rgb(), xor())
    shown.tick(0.0)
    before = {scale for each in shown.frame_data() for scale in each.cubes.color_scales}
    shown.panes[1].session.edit(0, 30.0)
    shown.tick(10.0)
    panes = shown.frame_data()
    after = {scale for each in panes for scale in each.cubes.color_scales}
    assert after == {30.0} and len(before) == 1
    assert shown.surroundings(panes).cubes.grown == (before.pop(), 30.0)


def test_activations_and_gradients_have_one_scale_too() -> None:
    shown = beside(rgb(), rgb((3, 8, 8, 3)), rgb((3, 3)))
    for stage in shown.panes:
        stage.session.advance(3, "operation")
    assert len({pane.buffers.scale for pane in shown.frame_data()}) == 1
    for stage in shown.panes:
        stage.session.advance(len(stage.session.operations) - 4, "operation")
        assert stage.session.next == "step"
    tops = {pane.cubes.top_push for pane in shown.frame_data()}
    assert len(tops) == 1 and tops.pop() is not None


def test_channels_of_one_session_are_zeros_in_the_others() -> None:
    shown = beside(rgb(), rgb(optimizer=sv.Adam(0.01)))
    assert {"value", "gradient", "m", "v"} <= set(shown.channels)
    shown.take(color="m")
    panes = shown.frame_data()
    assert not panes[0].cubes.colors.any() and panes[1].cubes.colors.any()
    assert panes[0].cubes.color == panes[1].cubes.color == "m"
    refused(UnknownNameError, "'weight'").by(shown.take, cubes="weight")


# Pictures.


def test_a_pane_shows_what_a_stage_of_its_own_shows(studio: Studio) -> None:
    session = rgb((3, 3))
    shown = beside(session, xor())
    shown.common.silent = True
    pixels = shot(studio, shown)
    alone = Stage(session, reduced_motion=True)
    alone.common.silent = True
    box, alone.pane = shown._boxes.panes[0], shown.panes[0].pane
    alone.common.scales = shown.common.scales
    alone.read()
    size = int(box.width), int(box.height)
    apart = pixels[: size[1] - 1, : size[0] - 1] - studio.stage(alone, size=size)[:-1, :-1]
    assert np.abs(apart).max() <= 2  # up to the rounding of a place in a picture


def test_the_head_of_a_pane_has_its_loss_and_its_step_if_others_are_elsewhere(
    studio: Studio,
) -> None:
    sessions = [rgb(steps=300), xor(steps=20), rgb((3, 3), steps=0)]
    shown = beside(*sessions)
    shot(studio, shown)
    panes = [stage.pane for stage in shown.panes]
    heads = [(each.loss, each.about) for each in panes if each is not None]
    losses = [f"loss {session.loss:#.3g}" for session in sessions[:2]]
    assert heads == [(losses[0], "step 300"), (losses[1], "step 20"), ("", "step 0")]
    words = [stage.picture().words for stage in shown.panes]
    assert losses[0] in words[0] and losses[1] in words[1] and "step 20" in words[1]
    level = beside(rgb(), xor())
    shot(studio, level)
    assert not any(stage.pane and stage.pane.about for stage in level.panes)


def test_pinned_weights_have_a_card_where_there_is_room(studio: Studio) -> None:
    shown = beside(rgb(), xor())
    shown.pin([4, None])
    shot(studio, shown, (800, 500))
    assert all(stage._seen.division(400, 300).card.width == 0.0 for stage in shown.panes)
    shot(studio, shown, (1400, 900))
    assert shown.panes[0]._seen.division(700, 600).card.width > 200.0


def test_a_row_is_pinned_wherever_it_is_and_a_perceptron_in_its_network() -> None:
    session, other = rgb(), xor()
    shown = beside(session, other)
    shown.pin(5)
    assert [stage.pinned for stage in shown.panes] == [5, 5]
    shown.pin(40)
    assert [stage.pinned for stage in shown.panes] == [40, 5]
    shown.pin(other.network.layers[0].perceptrons[1])
    assert shown.panes[1].pinned_neuron is not None
    shown.pin(None)
    assert [stage.pinned for stage in shown.panes] == [None, None]
    for wrong, value in ((900, "900"), ([1, 2, 3], "3 parts"), ([1, 900], "900")):
        refused(ScalarvizError, value).by(shown.pin, wrong)


def test_every_operation_has_its_light_in_its_pane(studio: Studio) -> None:
    shown = beside(rgb(), rgb((3, 3)))
    rest = shot(studio, shown)
    shown.panes[0].session.advance(2, "operation")
    changed = (shot(studio, shown) != rest).any(axis=2)[:300]
    assert changed[:, :400].any() and not changed[27:, 401:].any()
    assert "2-4-1" not in shown._picture.words
    assert any("adds up" in words for words in shown._picture.words)


def test_the_curves_have_marks_where_a_session_stopped_by_itself(studio: Studio) -> None:
    first, second = rgb(), rgb((3, 3))
    second.stop_when("loss < 100")
    for session in (first, second):
        session.advance(4)
    (mark,) = second.stops.marks
    shown = beside(first, second)
    shown.common.silent = True
    pixels = shot(studio, shown)
    chart = shown.chart
    assert chart is not None and [step for _, step in chart.marks] == [mark.step]
    x, accent = chart.marks[0][0], 255.0 * palette.rgb((palette.THEMES["dark"].accent,))[0]
    seen = pixels[round(chart.plot.y) : round(chart.plot.bottom), round(x)].astype(float)
    assert (np.abs(seen[:, :3] - accent).max(axis=1) < 40.0).any()
    assert chart.step_at(x + 2.0) == mark.step
    shown.hover_at(x + 2.0, chart.plot.y + 5.0)
    shot(studio, shown)
    assert f"3-3: {mark.text}"[:20] in " ".join(shown._picture.words)


# Differences to the first.


def test_the_difference_to_the_first_is_a_channel_where_shapes_agree(studio: Studio) -> None:
    first, other = rgb(), rgb(first=3)
    shown = beside(first, other, rgb((3, 3)))
    assert DIFFERENCE in shown.channels
    shown.take(color=DIFFERENCE)
    panes = shown.frame_data()
    values = [session.network.bank.value for session in (first, other)]
    assert not panes[0].cubes.colors.any() and not panes[2].cubes.colors.any()
    assert np.array_equal(panes[1].cubes.colors, values[1] - values[0])
    largest = float(np.abs(values[1] - values[0]).max())
    assert {scale for pane in panes for scale in pane.cubes.color_scales} == {stop_above(largest)}
    assert np.array_equal(panes[1].cubes.sizes, values[1])
    shot(studio, shown)
    assert DIFFERENCE in " ".join(shown._picture.words)
    heads = [stage.pane.about for stage in shown.panes if stage.pane is not None]
    assert heads == ["the first", "", "another shape"]
    words = [stage.picture().words for stage in shown.panes]
    assert "the first" in words[0] and "another shape" in words[2]


@pytest.mark.parametrize("make", [lambda: beside(rgb(), rgb((3, 3))), lambda: Stage(rgb())])
def test_without_another_network_of_the_shape_there_is_no_difference(make: Any) -> None:
    shown = make()
    assert DIFFERENCE not in shown.channels
    for name in ("color", "cubes"):
        refused(InputError, DIFFERENCE).by(shown.take, **{name: DIFFERENCE})
    assert shown.look.color == shown.look.cubes == "value"


# Branches.


def test_branches_of_one_session_stand_side_by_side_and_go_on() -> None:
    session = rgb(steps=10)
    session.back(4)
    session.learning_rate = 0.01
    session.advance(2)
    twins = [session.copy(branch) for branch in session.branches]
    assert [twin.current_branch.number for twin in twins] == [0, 1]
    assert [twin.step_index for twin in twins] == [8, 8]
    several = Several.of(twins)
    assert several is not None and several.names == ("3-8-3, branch 0", "3-8-3, branch 1")
    shown = stages_of(several)
    shown.take(color=DIFFERENCE)
    assert shown.frame_data()[1].cubes.colors.any()
    SharedClock(several.sessions).advance(5)
    assert [twin.step_index for twin in twins] == [13, 13] and session.step_index == 8
    for twin, number in zip(twins, (0, 1), strict=True):
        session.switch(number)
        session.seek(8)
        session.advance(5)
        assert twin.network.bank.value.tobytes() == session.network.bank.value.tobytes()
        assert len(twin.current_branch.journal) == number


def test_a_branch_itself_is_no_session() -> None:
    session = rgb()
    session.branch()
    refused(InputError, "number 1 is a branch").by(Several.of, session.branches)
    for wrong in (7, "x"):
        refused(InputError, repr(wrong)).by(session.copy, wrong)


@pytest.mark.slow
def test_the_key_to_the_marks_stands_in_the_chosen_pane(studio: Studio) -> None:
    shown = beside(rgb(), rgb((3, 3)))
    shown.chosen = 1
    before = shot(studio, shown, (1000, 600))
    shown.panes[1].marks = True
    changed = (shot(studio, shown, (1000, 600)) != before).any(axis=2)
    assert changed[:, 510:].any() and not changed[:, :490].any()
    shown.restore()
    assert not shown.panes[1].marks


SMALL: dict[str, Any] = {"size": (640, 420), "samples": 1}


@pytest.mark.usefixtures("opengl")
def test_one_session_in_a_list_is_drawn_as_by_itself() -> None:
    session = rgb()
    assert np.array_equal(sv.picture([session], **SMALL), sv.picture(session, **SMALL))


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"theme": "dim"}, "'dim'"),
        ({"color": "values"}, "'values'"),
        ({"pin": [1, 2, 3]}, "3 parts"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    options: dict[str, Any], value: str, tmp_path: Path
) -> None:
    path = tmp_path / "both.png"
    refused(InputError, value).by(sv.picture, [xor(), rgb()], path, **SMALL, **options)
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_a_video_advances_all_on_one_clock_with_the_bits_of_each_alone(tmp_path: Path) -> None:
    together, alone = [rgb(), rgb((3, 3), steps=8), xor()], [rgb(), rgb((3, 3), steps=8), xor()]
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int) -> None:
        told.append((done, total))
        assert len({session.step_index for session in together}) <= 2

    path = tmp_path / "three.gif"
    count = sv.record(together, path, steps=6, every=2, fps=2, size=(320, 200), progress=tell)
    assert count == 4 + 2 and told == [(2, 4), (3, 4), (4, 4)]
    assert [session.step_index for session in together] == [11, 11, 11]
    for session, twin in zip(together, alone, strict=True):
        twin.advance(11 - twin.step_index)
        assert session.network.bank.value.tobytes() == twin.network.bank.value.tobytes()
        assert session.losses.tobytes() == twin.losses.tobytes()
    assert frames_of(path).shape == (4, 200, 320, 3)  # a GIF has equal frames once


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_a_video_of_operations_goes_through_the_phases_together(tmp_path: Path) -> None:
    sessions = [rgb((3, 3)), rgb()]
    path = tmp_path / "step.gif"
    options: dict[str, Any] = {"unit": "operation", "hold": 0.5, "fps": 2, "size": (320, 200)}
    assert sv.record(sessions, path, steps=1, **options) == 1 + len(sessions[1].operations) + 2
    assert [session.clock.place for session in sessions] == [(6, 0), (6, 0)]


def frames_of(path: Path) -> np.ndarray:
    from PIL import Image, ImageSequence

    with Image.open(path) as image:
        return np.stack([np.asarray(f.convert("RGB")) for f in ImageSequence.Iterator(image)])


@pytest.mark.usefixtures("opengl")
def test_a_page_is_of_one_session(tmp_path: Path) -> None:
    refused(InputError, "several").by(sv.page, [rgb(), xor()], tmp_path / "page.html")
