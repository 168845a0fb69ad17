"""The data of the page's picture: what Python knows, without JavaScript."""

import base64
import json

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pages.bundle import packed
from scalarviz.pages.scene_data import flat_parts, plain, programs, scene_data
from scalarviz.scene.visuals.shaders import PROGRAMS, as_es
from scalarviz.stage.network_layout import layout_of


def session(*sizes: int) -> sv.Session:
    network = sv.Network([*sizes], "tanh", seed=1)
    return sv.Session(network, sv.data.Xor(), "mse", sv.SGD(0.5), engine="python")


def arrays(data: object) -> list[np.ndarray]:
    """All arrays in some data."""
    if isinstance(data, dict) and "dtype" in data:
        flat = np.frombuffer(base64.b64decode(data["data"]), data["dtype"])
        return [flat.reshape(data["shape"])]
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [each for part in parts for each in arrays(part)]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8, np.int32])
def test_an_array_is_kept_with_its_shape(kind: type) -> None:
    numbers = (np.arange(24) * 7.5).astype(kind).reshape(2, 3, 4)[:, ::2]
    found = json.loads(json.dumps(packed(numbers)))
    assert found["dtype"] == np.dtype(kind).name
    np.testing.assert_array_equal(arrays(found)[0], numbers)


def test_a_stage_of_each_shape_has_the_layout_of_a_window() -> None:
    shown = session(2, 6, 1)
    data = scene_data(shown)
    for shape, number in data["shapes"]:
        layout, found = layout_of(shown, shape=shape), data["layouts"][number]
        assert [plate["first"] for plate in found["plates"]] == [p.first for p in layout.plates]
        for line, other in zip(layout.neurons, found["neurons"], strict=True):
            np.testing.assert_allclose(arrays(other["points"])[0], line.points, rtol=1e-6)
    numbers = [number for _, number in data["shapes"]]
    assert sorted(set(numbers)) == [*range(len(data["layouts"]))]
    assert len({json.dumps(each) for each in data["layouts"]}) == len(data["layouts"]) > 1


def test_it_is_json_without_what_json_has_not() -> None:
    json.dumps(scene_data(session(2, 3, 1)), allow_nan=False)


def test_shaders_lose_their_comments_only() -> None:
    for name, sources in programs().items():
        for text, source, fragment in zip(sources, PROGRAMS[name], (False, True), strict=True):
            assert "//" not in text
            whole = as_es(source, fragment=fragment)
            code = "".join(line.partition("//")[0] for line in whole.splitlines())
            assert "".join(text.split()) == "".join(code.split())
    assert plain("  a;  // b\n\n// c\n") == "a;\n"


def test_where_an_activation_is_flat() -> None:
    tanh = flat_parts(np.tanh, lambda x, y: 1.0 - y * y)
    edge = np.arctanh(np.sqrt(0.9))
    np.testing.assert_allclose([tanh[0][1], tanh[1][0]], [-edge, edge], rtol=1e-9)
    assert flat_parts(lambda x: x, lambda x, y: 1.0) == []
    relu = flat_parts(lambda x: max(x, 0.0), lambda x, y: float(x > 0.0))
    assert relu[0][0] < -1e200 and abs(relu[0][1]) < 1e-9 and len(relu) == 1
