"""Ways: where the lines of trays begin and end, what they carry, and the same ones on pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.plates import Fan
from scalarviz.scene.layout.ways import (
    ALONE,
    FAINT,
    FEW,
    MOST_STRONG,
    RIBBON,
    Stroke,
    strokes_of,
)
from scalarviz.scene.lights import lights
from scalarviz.scene.lines import Carried, KnownFan, LinePaint, carried, draw_lines, known_fan
from scalarviz.stage.stage import Stage
from tests.scene.measures import hull, projection, stage_of, trained

NEAR = 2.0  # pixels from the end of a line to its object
SCENES = ["rgb", "circle", "xor", "micrograd", "5-7-2", "9-2-9", "2-16-16-1", "7-18-3"]
every_scene = pytest.mark.parametrize("name", SCENES)
FIELDS = "starts", "ends", "edges", "right", "up", "scale", "square", "tubes"
LOOKS = [((1280, 800), (0.0, 0.0)), ((800, 500), (60.0, 25.0)), ((1000, 1000), (-40.0, -15.0))]
every_look = pytest.mark.parametrize(("size", "turned"), LOOKS, ids=str)


def stage_at(name: str, size: tuple[int, int], turned: tuple[float, float] = (0.0, 0.0)) -> Stage:
    stage = stage_of(trained(name), size)
    stage.eyes.orbit(*turned)
    return stage


def layers(stage: Stage) -> list[tuple[Fan, KnownFan, Carried]]:
    """The layers with trays."""
    data, see = stage.frame_data(), projection(stage)
    seen = [known_fan(fan, data.layout, see, 1.0) for fan in data.layout.fans]
    pairs = zip(data.layout.fans, seen, strict=True)
    return [(fan, each, carried(fan, data)) for fan, each in pairs if each and not fan.is_direct]


def lines_of(known: KnownFan, numbers: Carried) -> list[Stroke]:
    return strokes_of(
        known.seen, numbers.values, numbers.terms, numbers.halves, summed=numbers.summed
    )


def of_kind(kind: str, strokes: list[Stroke]) -> list[Stroke]:
    return [each for each in strokes if each.kind == kind]


def cubes_seen(stage: Stage) -> dict[int, np.ndarray]:
    """The outlines of cubes, by their bank indices."""
    data, see, found = stage.frame_data(), projection(stage), {}
    for plate, top in zip(data.layout.plates, data.cubes.size_scales.tolist(), strict=True):
        row, column, indices = plate.cells()
        for i, j, index in zip(row.tolist(), column.tolist(), indices.tolist(), strict=True):
            half = float(plate.halves(data.cubes.sizes[index], top))
            found[index] = hull(see(plate.corners_of(i, j, half)).xy)
    return found


def apart(point: Any, outline: np.ndarray) -> float:
    """The pixels from a point to a convex outline, 0 inside; of one with two corners, a line."""
    starts, ways = outline, np.roll(outline, -1, axis=0) - outline
    off = np.asarray(point) - starts
    if len(outline) > 2 and (ways[:, 0] * off[:, 1] >= ways[:, 1] * off[:, 0]).all():
        return 0.0
    parts = np.clip((off * ways).sum(axis=1) / (ways**2).sum(axis=1), 0.0, 1.0)
    return float(np.hypot(*(off - parts[:, np.newaxis] * ways).T).min())


def off_rim(point: Any, ring: Any, *, square: bool = False) -> float:
    """The pixels from a point to the rim of a ball, or of a square."""
    x, y, radius = ring
    aside = np.abs(np.asarray(point) - (x, y))
    far = aside.max() if square else np.hypot(*aside)
    return float(abs(far - radius))


@pytest.mark.some(8)
@every_look
@every_scene
def test_each_end_of_a_line_lies_at_its_object(name: str, size: Any, turned: Any) -> None:
    stage = stage_at(name, size, turned)
    found, cubes, lines = set[str](), cubes_seen(stage), stage.frame_data().layout.neurons
    for fan, known, numbers in layers(stage):
        seen, strokes = known.seen, lines_of(known, numbers)
        before = lines[fan.before]
        bands = [np.array(each.points) for each in of_kind("band", strokes)]
        ribbons = {each.unit: np.array(each.points) for each in of_kind("ribbon", strokes)}
        for stroke in strokes:
            start, end, unit = stroke.points[0], stroke.points[-1], stroke.unit
            cube = cubes[known.rows[unit][stroke.column]]  # if it is a line of a cube
            if stroke.kind == "in":
                off = off_rim(start, seen.starts[stroke.column], square=before.square)
                assert max(off, apart(end, cube)) <= NEAR
            elif stroke.kind == "product":
                off = off_rim(end, seen.ends[unit], square=seen.square)
                assert max(off, apart(start, cube)) <= NEAR
            elif stroke.kind == "tick":
                way = ribbons[unit]
                on = min(apart(start, way[i : i + 2]) for i in range(len(way) - 1))
                assert max(on, apart(end, cube)) <= NEAR
            elif stroke.kind == "stub":
                off = off_rim(start, seen.starts[stroke.column], square=before.square)
                assert max(off, apart(end, bands[0])) <= NEAR
            elif stroke.kind == "ribbon":
                alone = {each.column for each in of_kind("in", strokes) if each.unit == unit}
                rest = [i for i in range(seen.count) if i not in alone]
                last = cubes[known.rows[unit][rest[-1] if rest else 0]]
                assert max(apart(start, bands[0]), apart(end, last) - RIBBON) <= NEAR
            elif stroke.kind == "sum":
                last = cubes[known.rows[unit][-1]]
                off = off_rim(end, seen.ends[unit], square=seen.square)
                assert max(off, apart(start, last)) <= NEAR
            found.add(stroke.kind)
    assert found >= {"in", "product"}
    assert ("ribbon" in found) == any(len(fan.starts) > FEW for fan, _, _ in layers(stage))


@every_scene
def test_before_a_cube_is_the_sign_of_what_comes_in_and_after_it_that_of_the_product(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_at(name, (1280, 800))
    hues: list[tuple[Stroke, int]] = []
    monkeypatch.setattr(
        LinePaint, "add", lambda self, added: hues.extend(each[:2] for each in added)
    )
    data, see = stage.frame_data(), projection(stage)
    draw_lines(Canvas2D(1280, 800), see, data, lights(data.layout, None, None), THEMES["dark"])
    drawn = iter(hues)
    values, bank = data.buffers.values, stage.session.network.bank.value
    for fan, known, numbers in layers(stage):
        came = values[data.layout.neurons[fan.before].values]
        for _ in lines_of(known, numbers):
            stroke, hue = next(drawn)
            if stroke.kind not in ("in", "product"):
                continue
            weight = bank[known.rows[stroke.unit][stroke.column]]
            said = 1.0 if stroke.column == known.seen.count else came[stroke.column]
            is_in = stroke.kind == "in"
            number = said if is_in else said * weight
            if is_in and abs(number) <= FAINT * np.abs(numbers.values).max():
                number = 0.0
            assert stroke.value == pytest.approx(number, rel=1e-5)
            is_channel = known.seen.tubes and is_in
            assert hue == (3 + stroke.column % 3 if is_channel else (0, 1, 2)[int(np.sign(number))])


@every_scene
def test_of_a_long_row_the_three_strongest_run_alone_and_of_a_large_layer_the_strongest(
    name: str,
) -> None:
    for _, known, numbers in layers(stage_at(name, (1280, 800))):
        seen, strokes = known.seen, lines_of(known, numbers)
        alone = {(each.unit, each.column) for each in of_kind("in", strokes)}
        said, sizes = np.abs(numbers.values), np.abs(numbers.terms)
        heard = {column for column in range(seen.count) if said[column] > 0.06 * said.max()}
        order = np.argsort(-sizes[:, : seen.count], axis=1)
        top = {(i, j) for i, row in enumerate(order.tolist()) for j in row[:ALONE]}
        if seen.count <= FEW:
            assert alone >= {(i, j) for i in range(len(sizes)) for j in heard}
        elif seen.is_busy:
            assert alone <= top and len(of_kind("product", strokes)) <= MOST_STRONG
            assert len(of_kind("sum", strokes)) == len(sizes)
        else:
            assert {(i, j) for i, j in top if j in heard} <= alone <= top
            ticks = {(each.unit, each.column) for each in of_kind("tick", strokes)}
            assert not alone & ticks
            assert {(i, j) for i in range(len(sizes)) for j in heard} <= alone | ticks


@every_scene
def test_what_carries_nothing_is_quiet_or_not_there(name: str) -> None:
    for _, known, numbers in layers(stage_at(name, (1280, 800))):
        values, terms = list(numbers.values), np.array(numbers.terms)
        values[0], terms[:, 0] = 0.0, 0.0
        lines = strokes_of(known.seen, values, terms.tolist(), numbers.halves, summed=True)
        nothing = strokes_of(
            known.seen, [0.0] * len(values), numbers.terms, numbers.halves, summed=False
        )
        assert {each.kind for each in nothing} <= {"ribbon", "band", "in"}
        quiet = [*(each for each in lines if each.column == 0), *of_kind("in", nothing)]
        for each in quiet:
            assert each.kind == "in" and each.value == 0.0 and not known.seen.is_busy
            assert known.seen.tubes or each.width == 1.4
        assert bool(of_kind("in", nothing)) != known.seen.is_busy
