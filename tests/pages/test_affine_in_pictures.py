"""An Affine in pictures and on pages: scales of its own, and raw numbers in plain colors."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pages.scene_data import colors_of, layout_data, scene_data
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.legend import ends_of
from scalarviz.scene.neuron_images import painted
from scalarviz.stage.stage import Stage
from tests.pages.in_web import in_web

DARK = THEMES["dark"]
X = np.random.default_rng(0).normal([3.0, -50.0, 1e4], [0.1, 7.0, 900.0], (40, 3))
Y = 300.0 + 20.0 * np.random.default_rng(1).normal(size=(40, 1))


def session(*, standardize: bool = True) -> sv.Session:
    data = sv.data.Arrays(X, Y, standardize=standardize)
    layers = [sv.Dense(3, 4, "tanh"), sv.Dense(4, 1)]
    ends = [sv.Affine(1, Y.std(), Y.mean())] if standardize else []
    net = sv.Network([*layers, *ends], seed=0)
    s = sv.Session(net, data, "mse", "adam", batch=8, engine="python")
    s.advance(3)
    return s


BODY = """
    const scene = unpackedAll(data.scene);
    const layout = new Layout(unpackedAll(data.layout));
    const palette = new Palette(data.theme);
    const scales = new Scales(scene.stops, scene.patience, scene.apart);
    const remembered = new Remembered(scales);
    const value = Float64Array.from(data.value);
    const values = Object.fromEntries(
      Object.entries(data.values).map(([name, each]) => [name, Float64Array.from(each)]));
    const state = { value, grad: value, values, moment: -1, operation: 0 };
    remembered.take(state, ["value", "value"], 0);
    const frame = frameOf(scene, layout, state, {}, remembered, 0);
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
    assert by_layer[1] == by_layer[2] == data.cubes.common == 1.0
    assert by_layer[0] >= np.abs(first.bias).max() > 1.0 and by_layer[3] >= Y.mean()
    assert data.cubes.clipped == 0 and ends_of(data.cubes)[-1] == "+1"
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
