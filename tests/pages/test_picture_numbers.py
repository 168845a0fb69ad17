"""The numbers of the page's picture, in Node: colors, scales, lights, pushes, means, an Affine."""

from dataclasses import astuple
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.program import NONE
from scalarviz.pages.bundle import packed
from scalarviz.pages.scene_data import colors_of, layout_data, plate_data, scene_data
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import NEAR, RIGHT, UP, Plate, Tiles
from scalarviz.scene.legend import five_of
from scalarviz.scene.lights import are_at, lights
from scalarviz.scene.neuron_images import painted
from scalarviz.scene.pace import SAME_PLACE
from scalarviz.scene.visuals import mip_levels
from scalarviz.scene.visuals.cubes import nearness
from scalarviz.stage.channels import largest
from scalarviz.stage.motion import pushes
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.stage import Stage
from tests.pages.node import floats, in_web
from tests.pages.states import SEE, box_data, convolved, depthwise, made
from tests.sessions import advanced


@pytest.mark.parametrize("name", THEMES)
def test_colors_are_those_of_the_theme(name: str) -> None:
    theme, values = THEMES[name], np.linspace(-1.3, 1.3, 53)
    body = """
    const palette = new Palette(data.theme);
    const colors = data.values.map((value) => palette.map(value, 0.9));
    return { colors, unknown: palette.map(NaN) };"""
    found = in_web("palette", body, theme=colors_of(theme), values=values)
    np.testing.assert_allclose(found["colors"], theme.map(values, 0.9), atol=1e-12)
    assert found["unknown"] == [1.0, 0.0, 1.0]


def test_scales_cover_the_same_numbers() -> None:
    many = np.random.default_rng(5).normal(size=150_000)
    many[::400] = np.nan
    all_of_it = [many, many[:5000], many[:3]]
    body = "return data.all.map((each) => largestOf(unpacked(each)));"
    found = in_web("scales arrays", body, all=[*map(packed, all_of_it)])
    assert found == pytest.approx([*map(largest, all_of_it)], rel=1e-12)


@pytest.mark.parametrize("make", [convolved, lambda: made(2, 3, 1)], ids=["cubes", "bars"])
def test_a_cube_is_as_large_as_in_a_window(make: Any) -> None:
    plan = layout_of(make())
    numbers = np.array([0.0, 0.04, 0.8, 1.0, -33.0, 1e-7, 7e12, np.nan])
    body = """return new Layout(unpackedAll(data.layout)).plates.map((plate) =>
      data.numbers.map((each) => plate.halves(each ?? NaN, 0.9)));"""
    given = [None if np.isnan(each) else each for each in numbers]
    found = in_web("arrays layout", body, layout=layout_data(plan), numbers=given)
    np.testing.assert_allclose(found, [plate.halves(numbers, 0.9) for plate in plan.plates])


@pytest.mark.parametrize("make", [lambda: made(3, 4, 2), convolved, depthwise])
def test_every_moment_is_lit_alike(make: Any) -> None:
    session = make()
    program, plan = session.network.program, layout_of(session)
    body = """
    const scene = unpackedAll(data.scene);
    const layout = new Layout(unpackedAll(data.layout));
    return [null, ...scene.moments].map((moment) => lightsOf(layout, scene, moment));"""
    about = {"scene": scene_data(session), "layout": layout_data(plan)}
    found = in_web("arrays layout lights", body, **about)
    for moment, lit in zip([None, *program.moments], found, strict=True):
        expected = lights(plan, program, moment)
        for name in ("plates", "neurons"):
            np.testing.assert_allclose(lit[name], getattr(expected, name), atol=1e-12)


@pytest.mark.parametrize("apart", [0.0, 0.5 * SAME_PLACE, 1.5 * SAME_PLACE, 0.25, 0.75])
@pytest.mark.parametrize("shape", [(2,), (2, 1, 1)])
def test_neurons_at_a_place_are_the_same_on_a_page(apart: float, shape: tuple[int, ...]) -> None:
    points = [[1.0, 2.0, 0.0], [4.0, 2.0, 0.0]]
    line = {"side": 1.0, "shape": shape, "count": 2, "points": [*points[0], *points[1]]}
    places = np.array([[1.0 + apart, 2.0 - apart, 0.0]])
    expected = are_at(cast(Any, SimpleNamespace(**line | {"points": np.array(points)})), places)
    body = "return masks_at({ neurons: [data.line] }, data.places)[0];"
    assert in_web("lights", body, line=line, places=places.tolist()) == expected.tolist()
    assert expected.tolist() == [apart <= SAME_PLACE + 0.5 * (len(shape) > 1), False]


def test_gradients_are_pushed_when_they_are_known() -> None:
    session = made(3, 4, 2)
    program, count = session.network.program, len(session.network.bank)
    before, after = np.random.default_rng(6).normal(size=(2, count))
    frozen, parts = np.arange(count) == 5, [0.0, 0.3, 0.6, 1.0]
    body = """
    const [grad_before, grad] = [data.before, data.after].map(unpacked);
    const scene = unpackedAll(data.scene);
    return scene.moments.map((each, moment) => data.parts.map((part) =>
      pushesOf(scene, { grad, grad_before, frozen: data.frozen, moment }, each, part)));"""
    given = {"before": packed(before), "after": packed(after), "frozen": frozen, "parts": parts}
    found = in_web("arrays frame_data", body, scene=scene_data(session), **given)
    for i, part in product(range(len(found)), range(len(parts))):
        theirs = pushes(program, program.moments, i + 1, parts[part], before, after, frozen)
        assert (found[i][part] is None) == (theirs is None)
        np.testing.assert_allclose(floats(found[i][part] or []), [] if theirs is None else theirs)


@pytest.mark.slow
@pytest.mark.parametrize(
    "tiles", [None, pytest.param(Tiles((3, 3), (4, 4), (9 * 30, 9)), marks=pytest.mark.slow)]
)
def test_tiny_cubes_have_the_same_means(tiles: Tiles | None) -> None:
    rows, columns = (119, 119) if tiles else (100, 70)
    plate = Plate(7, rows, columns, 3 if tiles else columns, np.zeros(3), RIGHT, -1.3 * UP, NEAR,
                  tiles=tiles)  # fmt: skip
    count, theme = plate.indices.stop + 5, THEMES["dark"]
    colors = np.random.default_rng(7).normal(size=count).astype(np.float32)
    high, wide = mip_levels.room_of(plate)
    table = np.zeros((high, 2 * wide, 4), np.uint8)
    values = np.linspace(-1.0, 1.0, 1025)
    palette = np.concatenate([theme.map(values), theme.map([np.nan])]).astype(np.float32)
    mip_levels.fill(table, plate, colors, colors, (0.6, 0.6), palette, 2)
    body = """
    const plate = Object.assign(new Plate(), data.plate);
    const colors = unpacked(data.colors);
    const table = { bytes: new Uint8Array(data.size), width: data.width, top: 0 };
    const palette = new Palette(data.theme);
    fillMeans(table, plate, colors, colors, [0.6, 0.6], palette, 2);
    return {table: table.bytes, spread: spreadOf(colors, plate.first, plate.stop)};"""
    found = in_web(
        "arrays layout palette cubes",
        body,
        plate=plate_data(plate),
        colors=packed(colors),
        size=table.size,
        width=2 * wide,
        theme=colors_of(theme),
        shader={"half": 0.42, "least": 0.45},
    )
    ours, theirs = np.reshape(found["table"], table.shape).astype(int), table.astype(int)
    assert np.abs(ours - theirs)[..., 3].max() <= 1
    assert (np.abs(ours - theirs).max(axis=-1) > 3).mean() < 0.002  # beside a step of the colors
    assert found["spread"] == pytest.approx(mip_levels.spread_of(colors[plate.indices]), rel=1e-6)


def test_a_plate_is_as_near_as_in_a_window() -> None:
    plates = [
        Plate(0, 60, 80, 80, np.array([x, 10.0, z]), RIGHT, -1.3 * UP, NEAR, "weight", NONE)
        for x, z in ((-40.0, 0.0), (-5.0, 14.0), (500.0, 0.0))
    ]
    box, size = Box(20.0, 30.0, 900.0, 560.0), (1280.0, 640.0)
    camera = Camera((0.0, -30.0, 0.0), 40.0, 15.0, 60.0, 28.0)
    see = Projection(camera, box, *size, 90.0)
    expected = nearness(plates, see.matrix.T, size)
    body = f"""{SEE}
    return data.plates.map((plate) => {{
      return nearnessOf(Object.assign(new Plate(), plate), see, ...data.size, {{ oblique: 4 }});
    }});"""
    found = in_web(
        "layout story/camera projection cubes",
        body,
        box=box_data(box),
        camera=astuple(camera),
        size=size,
        reach=90.0,
        plates=[plate_data(plate) for plate in plates],
    )
    for ours, theirs in zip(found, expected, strict=True):
        for name in ("least", "most", "fine"):
            number = float(str(ours[name]).replace("Infinity", "inf"))
            assert number == pytest.approx(getattr(theirs, name), rel=1e-9)


def test_a_channel_has_its_own_scale_and_is_computed_once() -> None:
    session = made(2, 3, 1)
    body = """
    const scene = unpackedAll(data.scene);
    const layout = new Layout(unpackedAll(data.layout));
    const value = Float64Array.from({ length: scene.count }, (_, i) => i / 10);
    const state = {
      value, grad: value.map((each) => 7 * each), before: value.map((each) => each - 0.03),
      slots: { m: value.map((each) => -20 * each) }, values: {}, moment: -1, operation: 0,
    };
    const scales = new Scales();
    const shown = (color, now, state) => {
      const channels = { look: { color, cubes: color } };
      scales.take(state, [color, color], now);
      const frame = frameOf(scene, layout, state, channels, scales, now);
      return { ...frame, again: frameOf(scene, layout, state, channels, scales, now) };
    };
    const names = ["value", "gradient", "last change", "m", "v"];
    const first = names.map((name) => shown(name, 0, state));
    const kept = first.map(({ colors, again }) => colors === again.colors);
    shown("value", 1, state);
    const grown = [3, 7.5, 7.5].map((factor, i) => {
      const larger = { ...state, value: value.map((each) => factor * each) };
      const { scale, grown, clipped } = shown("value", [2, 4, 7][i], larger);
      return [scale, grown, clipped];
    });
    return { scales: first.map(({ scale }) => scale), kept, changes: first[2].colors, grown };"""
    found = in_web(
        "arrays layout scales frame_data",
        body,
        scene=scene_data(session),
        layout=layout_data(layout_of(session)),
    )
    assert found["scales"] == [1.5, 10.0, 0.03, 30.0, 1.0] and all(found["kept"])
    np.testing.assert_allclose(found["changes"], 0.03)
    assert found["grown"] == [[5.0, [1.5, 5.0], 0], [5.0, None, 6], [10.0, [5.0, 10.0], 0]]


def test_a_name_is_cut_to_a_width() -> None:
    body = """
        const paper = {measure: (words) => 7 * words.length};
        const cut = (width) => Paper.prototype.fit.call(paper, "petal length", width);
        return [84, 70, 28, 5].map(cut);
    """
    assert in_web("paper", body) == ["petal length", "petal l...", "p...", "..."]


DARK = THEMES["dark"]
X = np.random.default_rng(0).normal([3.0, -50.0, 1e4], [0.1, 7.0, 900.0], (40, 3))
Y = 300.0 + 20.0 * np.random.default_rng(1).normal(size=(40, 1))


def session(*, standardize: bool = True) -> sv.Session:
    data = sv.data.Arrays(X, Y, standardize=standardize)
    layers = [sv.Dense(3, 4, "tanh"), sv.Dense(4, 1)]
    ends = [sv.Affine(1, Y.std(), Y.mean())] if standardize else []
    net = sv.Network([*layers, *ends], seed=0)
    s = advanced(sv.Session(net, data, "mse", "adam", batch=8, engine="python"), 3)
    return s


BODY = """
    const scene = unpackedAll(data.scene);
    const layout = new Layout(unpackedAll(data.layout));
    const palette = new Palette(data.theme);
    const scales = new Scales(scene.apart);
    const value = Float64Array.from(data.value);
    const values = Object.fromEntries(
      Object.entries(data.values).map(([name, each]) => [name, Float64Array.from(each)]));
    const state = { value, grad: value, values, moment: -1, operation: 0 };
    scales.take(state, ["value", "value"], 0, layout.plates);
    const frame = frameOf(scene, layout, state, {}, scales, 0);
    return {
      rows: data.value.map((_, row) => [frame.scaleAt(row), frame.sizeScaleAt(row)]),
      common: frame.scale, clipped: frame.clipped, activations: frame.activationScale,
      colors: Object.keys(values).map((name) => [name, paintedNeurons(name, frame, palette)]),
    };"""


@pytest.mark.parametrize("standardize", [True, False])
def test_pages_have_the_scales_and_colors_of_pictures(standardize: bool) -> None:
    s = session(standardize=standardize)
    stage = Stage(s)
    stage.tick(0.0)
    data = stage.frame_data()
    found = in_web(
        "arrays layout scales frame_data palette neuron_images",
        BODY,
        scene=scene_data(s),
        layout=layout_data(data.layout),
        theme=colors_of(DARK),
        value=s.network.bank.value.tolist(),
        values={name: each.tolist() for name, each in data.buffers.values.items()},
    )
    scales = np.zeros(len(s.network.bank))
    for plate, scale in zip(data.layout.plates, data.cubes.color_scales, strict=True):
        scales[plate.indices] = scale
    assert found["rows"] == [[scale, scale] for scale in scales]
    assert (found["common"], found["clipped"]) == (data.cubes.common, data.cubes.clipped)
    assert found["activations"] == data.buffers.scale
    for name, colors in found["colors"]:
        ours = painted(name, data.buffers.values[name], data, DARK)
        np.testing.assert_allclose(colors, ours, atol=1e-6)


def test_an_affine_does_not_make_all_other_cubes_and_neurons_grey() -> None:
    s = session()
    stage = Stage(s)
    stage.tick(0.0)
    data = stage.frame_data()
    first, last = s.network.layers[0], s.network.layers[-1]
    by_layer = {
        plate.layer: scale
        for plate, scale in zip(data.layout.plates, data.cubes.color_scales, strict=True)
    }
    assert by_layer[1] == by_layer[2] == data.cubes.common == 0.7
    assert by_layer[0] >= np.abs(first.bias).max() > 1.0 and by_layer[3] >= Y.mean()
    assert data.cubes.clipped == 0 and five_of(data.cubes)[-1] == 0.7
    assert data.buffers.scale < 10.0
    values = data.buffers.values
    raw, behind = values["inputs"], values["scale 0"]
    np.testing.assert_allclose(behind, first(raw), rtol=1e-4)
    assert np.array_equal(
        painted("inputs", raw, data, DARK), painted("scale 0", behind, data, DARK)
    )
    assert np.array_equal(
        painted("scale 3", values["scale 3"], data, DARK),
        painted("affine 2", values["affine 2"], data, DARK),
    )
    assert last.frozen


def test_raw_inputs_get_their_colors_with_the_first_operation() -> None:
    s = session()
    stage = Stage(s)
    s.advance(1, "operation")
    stage.tick(0.0)
    data = stage.frame_data()
    assert "scale 0" not in data.buffers.values
    grey = painted("inputs", data.buffers.values["inputs"], data, DARK)
    assert np.array_equal(grey, DARK.map(np.zeros(3)))
