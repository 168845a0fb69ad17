"""Pictures of sweeps: what stands on them, and how they are played and drawn in a notebook."""

import math
import re
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, OrderError, UnknownNameError
from scalarviz.faces.notebook.session_display import show_sweep
from scalarviz.scene import sweep_panels
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.layout.division import Box
from scalarviz.scene.layout.plates import LEAST
from scalarviz.scene.loss_chart import ChartScales
from scalarviz.scene.sweep_panels import (
    CUBES,
    SmallPictures,
    SweepPanel,
    SweepPanels,
    cubes_of,
    divided,
    draw_panels,
    ends_of,
    packed,
    scale_of,
)
from scalarviz.scene.visuals import shaders
from scalarviz.stage.encoders import png
from scalarviz.stage.sweep_look import SweepLook
from scalarviz.stage.sweep_results import Maker, layers_side_by_side
from scalarviz.stage.sweep_stage import SweepStage, choices_of
from scalarviz.sweeps.results import in_words
from scalarviz.sweeps.sweep import Sweep
from tests.machine import until
from tests.scene.measures import Words
from tests.sessions import advanced
from tests.sweeps.making import classes, colors, diverging, raising, xor
from tests.wording import refused


@pytest.fixture(scope="module")
def runs() -> Sweep:
    return advanced(sv.sweep(xor, {"hidden": [2, 3], "lr": [0.5, 2.0]}, seeds=range(12)), 200)


def panels_of(sweep: Sweep, **look: Any) -> SweepPanels:
    return SweepStage(sweep, "dark", SweepLook(**look)).panels()


def test_cells_are_the_weights_of_each_layer_with_biases_last() -> None:
    program = sv.Network([2, 3, 1], seed=0).program
    none = -1
    assert layers_side_by_side(program).tolist() == [
        [0, 1, 6, none, 9],
        [2, 3, 7, none, 10],
        [4, 5, 8, none, 11],
        [none, none, none, none, 12],
    ]


def test_networks_stand_in_the_order_of_their_losses(runs: Sweep) -> None:
    panel = panels_of(runs).panels[3]
    assert (np.diff(panel.losses[:, -1]) >= 0).all() and panel.name == "hidden 3, lr 2"
    best = int(np.argmin(runs.outcome(3).scores()))
    cells = panel.pictures.numbers[0][np.isfinite(panel.pictures.numbers[0])]
    assert sorted(cells) == pytest.approx(sorted(runs.outcome(3).values[best].tolist()))
    assert panel.mean[-1] == pytest.approx(runs.table().columns["loss"][3])


@pytest.mark.some(3)
@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (360, 640), (3840, 2160)])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_every_setting_is_named_and_panels_do_not_overlap(
    runs: Sweep, size: tuple[int, int], theme: str
) -> None:
    canvas = Canvas2D(*size)
    draw_panels(canvas, panels_of(runs), THEMES[theme])
    for hidden in (2, 3):
        assert any(words.startswith(f"hidden {hidden}, lr") for words in canvas.words)
    boxes = divided(*map(float, size), [("", 4)], 2)[0]
    assert len(boxes) == 4
    for i, a in enumerate(boxes):
        assert a.x >= 0 and a.right <= size[0] and a.bottom <= size[1]
        for b in boxes[:i]:
            assert a.right <= b.x or b.right <= a.x or a.bottom <= b.y or b.bottom <= a.y


def test_a_long_title_ends_before_what_the_cubes_show(runs: Sweep) -> None:
    shown = panels_of(runs)
    canvas = Words(640.0, 420.0)
    draw_panels(canvas, replace(shown, title="Sizes and rates " * 9), THEMES["dark"])
    (title,) = [box for words, box in canvas.found if words.startswith("Sizes")]
    tells = [box for words, box in canvas.found if words.endswith("   ".join(ends_of(shown)))]
    assert shown.kind == CUBES and tells and title.right <= tells[0].x


def test_panels_stand_in_the_columns_that_are_wished_or_in_several() -> None:
    for wished, columns in ((3, 3), (2, 2), (0, 4)):
        assert len({box.x for box in divided(1280.0, 800.0, [("", 12)], wished)[0]}) == columns


def test_a_picture_has_lines_and_networks_where_they_belong(runs: Sweep, tmp_path: Path) -> None:
    frame = sv.picture(runs, tmp_path / "sweep.png", size=(800, 500), samples=1)
    assert (tmp_path / "sweep.png").stat().st_size > 5000
    ground = frame[498, 2].astype(int)
    differs = (abs(frame.astype(int) - ground) > 40).any(axis=2)
    for box in divided(800.0, 500.0, [("", 4)], 2)[0]:
        part = differs[int(box.y + 40) : int(box.bottom), int(box.x) : int(box.right)]
        assert 0.01 < np.array_split(part, 2, axis=1)[0].mean() < 0.6
    shown = panels_of(runs)
    found = draw_panels(Canvas2D(800, 500), shown, THEMES["dark"])
    for panel, boxes in zip(shown.panels, found, strict=True):
        tiles = panel.pictures.tiles(boxes[0].width, 1.0, shown.scale, THEMES["dark"])
        for tile, box in zip(tiles, boxes, strict=True):
            part = differs[int(box.y) : int(box.bottom), int(box.x) : int(box.right)]
            assert (part[tile[..., 3] == 255]).mean() > 0.98
            assert not part[tile[..., 3] == 0].any()


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [(1280, 800), (800, 500)])
def test_a_frame_shows_where_a_network_ends_and_not_only_a_layer(
    runs: Sweep, theme: str, size: tuple[int, int]
) -> None:
    look = THEMES[theme]
    frame, shown = sv.picture(runs, size=size, theme=theme, samples=1), panels_of(runs)
    ground, tray, rim = np.rint(255 * rgb((look.ground, look.tray, look.rim))).astype(int)
    for panel, boxes in zip(shown.panels, draw_panels(Canvas2D(*size), shown, look), strict=True):
        tiles = panel.pictures.tiles(boxes[0].width, 1.0, shown.scale, look)
        between_layers = (tiles[0][..., 3] == 0).all(axis=0)
        assert between_layers.any()
        for box, other in pairwise(box for box in boxes if box.y == boxes[0].y):
            y = round(box.y + 0.5 * box.height)
            assert (frame[y, round(box.x) : round(box.right)][between_layers] == tray).all()
            beside = frame[y, round(box.right) : round(other.x)].tolist()
            assert ground.tolist() in beside and beside.count(rim.tolist()) >= 2


def test_networks_that_failed_have_a_frame_and_errors_are_written() -> None:
    failed = advanced(sv.sweep(diverging, {"lr": [10.0]}, seeds=range(4)), 60)
    frame = sv.picture(failed, size=(800, 500), samples=1).astype(int)
    assert (abs(frame - [0xFF, 0x5D, 0x5D]) < 30).all(axis=2).sum() > 100
    named = advanced(sv.sweep(raising, {"hidden": [4, 5]}, seeds=range(2)), 10)
    canvas = Canvas2D(800, 500)
    draw_panels(canvas, panels_of(named), THEMES["dark"])
    assert any("five is not for me" in words for words in canvas.words)


def test_a_sweep_without_results_is_refused() -> None:
    refused(OrderError).by(sv.picture, sv.sweep(xor, {}), size=(100, 100))


def test_settings_and_networks_are_ordered_by_any_column(runs: Sweep) -> None:
    table = runs.table()
    for column in ("loss", "success", "steps to success", "lr"):
        cells = [
            table.columns[column][panel.setting] for panel in panels_of(runs, order=column).panels
        ]
        assert cells == sorted(cells)
        fallen = panels_of(runs, order=f"-{column}").panels
        assert [table.columns[column][panel.setting] for panel in fallen] == sorted(cells)[::-1]
    seeds = [list(panel.seeds) for panel in panels_of(runs, order="-seed").panels]
    assert seeds == [list(range(11, -1, -1))] * 4
    assert [panel.setting for panel in panels_of(runs).panels] == [0, 1, 2, 3]


def test_settings_and_networks_are_ordered_by_their_rank(runs: Sweep) -> None:
    by_accuracy = sv.sweep(classes, {"lr": [0.001, 0.3]}, seeds=range(3), goal="held_out_accuracy")
    for sweep in (runs, advanced(by_accuracy, 100)):
        ranks = sweep.table().columns["rank"]
        best_first, worst_first = (panels_of(sweep, order=o).panels for o in ("rank", "-rank"))
        assert [ranks[panel.setting] for panel in best_first] == sorted(ranks)
        assert [ranks[panel.setting] for panel in worst_first] == sorted(ranks)[::-1]
        for panels, sign in ((best_first, 1.0), (worst_first, -1.0)):
            for panel in panels:
                outcome = sweep.outcome(panel.setting)
                places = [outcome.row_of(seed) for seed in panel.seeds]
                assert (np.diff(sign * outcome.scores(sweep.ranking)[places]) >= 0.0).all()
    chosen = choices_of(SweepStage(runs, "dark"))
    assert "rank" in chosen["order"] and not {"rank", "seed"} & {*chosen["group"]}


def test_a_picture_names_the_goal_and_what_each_setting_comes_to() -> None:
    runs = advanced(sv.sweep(classes, {"lr": [0.001, 0.3]}, range(3), goal="held_out_accuracy"), 40)
    shown, canvas = panels_of(runs), Canvas2D(1280, 800)
    draw_panels(canvas, shown, THEMES["dark"])
    assert shown.title.startswith("6 networks by held-out accuracy: 2 settings, 3 seeds each")
    value = in_words(runs.table().columns["held_out_accuracy"][1])
    assert any(f"held-out accuracy {value}" in words for words in canvas.words)
    assert [panel.is_other for panel in shown.panels] == [False, True]


def test_each_setting_is_compared_with_the_best_or_a_chosen_one(runs: Sweep) -> None:
    for chosen, other in ((None, int(np.argmin(runs.table().columns["loss"]))), (1, 1)):
        for panel in panels_of(runs, against=chosen).panels:
            assert panel.is_other == (panel.setting == other)
            if not panel.is_other:
                share, low, high = runs.beats(panel.setting, other)
                assert panel.against[0].endswith(
                    f" in {share:.0%} of pairs ({low:.0%} to {high:.0%})"
                )
    canvas = Canvas2D(1280, 800)
    draw_panels(canvas, panels_of(runs, against=1), THEMES["dark"])
    assert sum("better than hidden 2, lr 2 in " in words for words in canvas.words) == 3


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_cubes_have_the_colors_and_the_light_of_cubes(theme: str) -> None:
    vertex, fragment = shaders.PROGRAMS["cubes"]
    light = re.search(r"return ([\d.]+) \+ ([\d.]+) \* max\(dot\(v_key.xyz", fragment)
    key = re.search(r"vec3\(0.0, ([\d.]+), 0.0\) \+ ([\d.]+) \* back - ([\d.]+) \*", vertex)
    assert light is not None and key is not None
    (least, more), (up, back, left) = (map(float, each.groups()) for each in (light, key))
    angle = math.radians(42.0)  # from which networks are seen
    front = back * math.cos(angle) + left * math.sin(angle)
    side = back * math.sin(angle) - left * math.cos(angle)
    assert [least + more * each for each in (front, up, side)] == pytest.approx(
        [1.0, sweep_panels.TOP, sweep_panels.SIDE], abs=0.005
    )
    sprites = cubes_of(20, theme)
    shades = THEMES[theme].map(np.linspace(-1.0, 1.0, len(sprites) - 1))
    for i in (0, 16, 48, 64):
        middle = sprites[i, 11, 8]
        assert middle[3] == 255 and abs(middle[:3] - 255 * shades[i]).max() <= 1
        assert sprites[i, :, :, 3].astype(bool).sum() >= sprites[32, :, :, 3].astype(bool).sum()
    assert not sprites[-1].any()


def test_cubes_have_the_sizes_of_those_in_pictures_of_networks() -> None:
    found = cubes_of(200, "dark")[sweep_panels.LEVELS :, :, :, 3] > 0
    sides = found.any(axis=1).sum(axis=1) / found[-2].any(axis=0).sum()
    wanted = np.cbrt(np.arange(sweep_panels.LEVELS + 1) / sweep_panels.LEVELS)
    np.testing.assert_allclose(sides[:-1], np.maximum(wanted, LEAST), atol=0.01)


def test_maps_show_the_output_of_each_network_over_the_plane(runs: Sweep) -> None:
    panel = panels_of(runs, networks="maps").panels[3]
    parts = panel.pictures.numbers
    assert len(parts) == 12
    net = runs[3, panel.seeds[5]].network
    side = parts.shape[1]
    plane = Maker(xor(3, 2.0)).plane
    assert plane is not None
    corner = plane.low + (np.array([0.5, side - 0.5]) / side) * (plane.high - plane.low)
    assert parts[5, 0, 0] == pytest.approx(2.0 * float(net(corner)[0]) - 1.0, abs=1e-5)


def test_swatches_show_outputs_above_targets_and_sizes_are_an_axis() -> None:
    runs = sv.sweep(colors, {"sizes": [(3, 3), (3, 8, 3)], "map": ["grey", "hue"]}, seeds=range(3))
    runs.advance(10)
    shown = panels_of(runs, networks="swatches")
    assert [panel.name for panel in shown.panels][:3] == [
        "sizes 3-3, map grey", "sizes 3-3, map hue", "sizes 3-8-3, map grey",
    ]  # fmt: skip
    swatches = shown.panels[3].pictures.numbers
    session = runs[3, shown.panels[3].seeds[2]]
    inputs, targets = sv.data.Rgb("hue").palette
    assert swatches[2, :, 0] == pytest.approx(np.clip(session.network(inputs), 0, 1), abs=1e-5)
    assert swatches[2, :, 1] == pytest.approx(targets)
    assert [*choices_of(SweepStage(runs, "dark"))["networks"]] == ["cubes", "swatches", "losses"]


@pytest.mark.parametrize("count", [1, 7, 100, 3000])
@pytest.mark.parametrize("kind", ["cubes", "maps", "swatches", "losses"])
def test_small_pictures_stay_in_their_box(kind: str, count: int, rng: np.random.Generator) -> None:
    pictures = {
        "cubes": SmallPictures("cubes", rng.normal(size=(count, 4, 5))),
        "maps": SmallPictures("maps", rng.uniform(-1, 1, (count, 8, 8))),
        "swatches": SmallPictures("swatches", rng.uniform(size=(count, 8, 2, 3))),
        "losses": SmallPictures(),
    }[kind]
    box, canvas = Box(10.0, 20.0, 300.0, 200.0), Canvas2D(400, 300)
    steps, losses = np.arange(1.0, 6.0), rng.uniform(0.1, 1.0, (count, 5))
    nobody = np.zeros(count, np.bool_)
    panel = SweepPanel(0, "", range(count), steps, losses, losses[0], pictures, nobody, nobody)
    boxes = sweep_panels.draw_networks(
        canvas, panel, box, ChartScales(box, 0.0, 5.0), 2.0, THEMES["dark"]
    )
    assert len(boxes) == count
    assert boxes[0].x >= box.x and boxes[0].y >= box.y
    assert max(each.right for each in boxes) <= box.right + 1e-6
    assert boxes[-1].bottom <= box.bottom + 1e-6
    assert packed(count, 300.0, 200.0, 1.0)[1] >= 1.0


def test_arrows_choose_the_nearest_network_in_their_direction(runs: Sweep) -> None:
    stage = SweepStage(runs, "dark")
    stage.networks = {(0, i): Box(20.0 * (i % 3), 20.0 * (i // 3), 16.0, 16.0) for i in range(5)}
    stage.networks[1, 7] = Box(200.0, 21.0, 16.0, 16.0)
    seen = []
    for way in ((1, 0), (1, 0), (0, 1), (1, 0), (1, 0), (0, -1), (-1, 0), (-1, 0), (0, -1)):
        stage.move(*way)
        seen.append(stage.chosen)
    first, beside = [(0, 0), (0, 1), (0, 4)], [(1, 7)] * 3
    assert seen == [*first, *beside, (0, 4), (0, 3), (0, 0)]
    assert stage.point(205.0, 30.0) == (1, 7) and stage.point(120.0, 30.0) is None


def test_letters_are_large_enough_and_grow_with_the_picture() -> None:
    assert scale_of(800.0, 500.0) == scale_of(1280.0, 800.0) == 1.0
    assert scale_of(3840.0, 2160.0) == pytest.approx(2.7)


def test_looks_that_a_sweep_does_not_have_are_refused(runs: Sweep) -> None:
    for error, look in (
        (UnknownNameError, {"networks": "walls"}),
        (InputError, {"networks": "swatches"}),
        (UnknownNameError, {"order": "-los"}),
        (UnknownNameError, {"group": "rate"}),
        (InputError, {"against": 4}),
    ):
        refused(error).by(sv.picture, runs, **look)
    refused(InputError).by(sv.picture, xor(), networks="maps")


def wait(runs: Any) -> None:
    until(lambda: not runs.playing)


@pytest.mark.slow
def test_a_sweep_plays_pauses_and_goes_on_to_the_same_bits() -> None:
    runs = sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(4))
    runs.play(3000, every=10)
    while runs.progressed.step < 30:
        time.sleep(0.001)
    runs.pause()
    step = runs.progressed.step
    assert not runs.playing and 30 <= step <= 3000
    assert runs.table().columns["runs"] == [4, 4]  # what is known so far
    assert runs.progressed.step == step
    runs.play(3000, every=10)
    wait(runs)
    whole = advanced(sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(4)), 3000, every=10)
    assert runs.runs().columns == whole.runs().columns


def test_an_error_of_all_settings_is_raised_by_pause() -> None:
    runs = sv.sweep(raising, {"hidden": [5]}, seeds=[0])
    runs.play(10)
    wait(runs)
    with pytest.raises(ValueError, match="five"):
        runs.pause()
    runs.pause()  # once


@pytest.mark.slow
def test_results_can_be_read_while_it_plays() -> None:
    runs = sv.sweep(diverging, {"lr": [1e-3, 10.0]}, seeds=range(4))
    runs.play(2000, every=5)
    seen = 0
    while runs.playing:
        if runs.knows(0) and runs.knows(1):
            assert len({len(column) for column in runs.runs().columns.values()}) == 1
            seen += 1
    assert seen and runs.table().columns["failed"] == [0, 4]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook shows, in order: the bytes of pictures."""
    import IPython.display

    found: list[Any] = []

    class Place:
        def update(self, image: Any) -> None:
            found.append(image.data)

    def display(each: Any, display_id: bool = False) -> Place:
        found.append(each.data if display_id else each)
        return Place()

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr("scalarviz.faces.notebook.session_display.BETWEEN", 0.0)
    return found


@pytest.mark.slow
def test_a_notebook_shows_pictures_while_it_trains(shown: list[Any]) -> None:
    runs = sv.sweep(xor, {}, seeds=range(3))
    show_sweep(runs, 12, "auto", (320, 200), SweepLook(), play=True)
    pictures = shown
    assert len(pictures) == 12 and all(each.startswith(b"\x89PNG") for each in pictures)
    assert runs.progressed.done == 3 and pictures[0] != pictures[-1]


def test_a_notebook_draws_the_sweep_as_it_is_asked_to(shown: list[Any]) -> None:
    runs = advanced(sv.sweep(xor, {"hidden": [2, 3]}, seeds=range(3)), 40)
    look = SweepLook(networks="maps", group="hidden", order="seed")
    show_sweep(runs, 40, "light", (320, 200), look, play=False)
    same = sv.picture(
        runs, size=(320, 200), theme="light", networks="maps", group="hidden", order="seed"
    )
    assert shown == [png(same)]
