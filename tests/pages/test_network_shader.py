"""Which networks a page draws by the graphics card, and what pictures of one's own it takes."""

import json
import sys
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.pages import recording
from scalarviz.pages.exhibit_data import exhibit_data, probe_of
from scalarviz.pages.page import SHADED, page_of
from scalarviz.pictures.presenter.exhibits_of import exhibit_of
from tests.pages.in_web import in_web
from tests.pages.pages import data_in

FAR = sys.float_info.max


def shader_of(*layers: Any, precision: str = "full") -> Any:
    """The shader in the exhibit of a network on a picture."""
    texture = data.Texture(size=16)
    session = sv.Session(sv.Network([*layers]), texture, engine="cpu", precision=precision)
    shown = exhibit_data(session)
    assert shown is not None
    return shown["shader"]


def test_a_picture_has_a_shader_and_a_plane_has_none() -> None:
    found = shader_of(sv.Dense(2, 3, "tanh"), sv.Dense(3, 3))
    assert found["fragment"].startswith("#version 300 es\n")
    first, rows, columns, at, stride = found["places"][1]
    assert (first, rows, columns, at, stride) == (0, 3, 2, 4, 4)
    plane = exhibit_data(sv.Session(sv.Network([2, 3, 1]), data.Circle(), engine="cpu"))
    assert plane is not None and "shader" not in plane


@pytest.mark.parametrize(
    ("layers", "given"),
    [
        ([sv.Dense(2, 3), sv.BatchNorm(3), sv.Dense(3, 3)], {}),
        ([sv.Dense(2, 3), sv.Dense(3, 3)], {"precision": "mixed"}),
        ([sv.Dense(2, 3000), sv.Dense(3000, 3)], {}),
    ],
)
def test_what_a_shader_cannot_compute_alike_is_left_to_the_worker(layers: Any, given: Any) -> None:
    assert shader_of(*layers, **given) is None


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("inputs", "targets", "has_map"),
    [
        ([[1e39, 0.0], [0.0, 1.0]], [[1.0], [0.0]], True),
        ([[1.0, 0.0], [0.0, 1.0]], [[FAR], [-FAR]], True),
        ([[FAR, -FAR], [-FAR, FAR]], [[1.0], [0.0]], False),
    ],
    ids=["inputs beyond float32", "targets far apart", "inputs far apart"],
)
def test_numbers_that_no_map_takes_have_a_page_all_the_same(
    inputs: Any, targets: Any, has_map: bool
) -> None:
    net = sv.Network([2, 3, 1], seed=0, dtype="float64")
    session = sv.Session(net, data.Arrays(inputs, targets), engine="python")
    shown = exhibit_data(session)
    assert shown is not None and (shown["map"] is not None) is has_map
    assert (exhibit_of(session) is not None) is has_map
    assert page_of(session).engine > 0
    assert len(sv.picture(session, size=(320, 200))) == 200


def test_a_plane_of_features_has_a_map_of_its_coordinates() -> None:
    points = data.Circle(samples=60, features="y,x2,sinx", scale=5.0)
    session = sv.Session(sv.Network([3, 2, 1]), points, engine="python")
    shown, probe = exhibit_data(session), probe_of(session)
    assert shown is not None and shown["names"] == ["x", "y"] and shown["axes"] == []
    cells, dots = shown["side"] ** 2, np.array(shown["dots"])
    low, high = np.array(shown["low"]), np.array(shown["high"])
    np.testing.assert_allclose(low + dots[:30] * (high - low), points.points[:30])
    np.testing.assert_allclose(points.inputs_of(points.points[:30]), probe[cells : cells + 30])
    body = """
        const inputsAt = PlaneMap.prototype.inputsAt.bind({ data: data.shown });
        return data.shown.dots.map(inputsAt);
    """
    plain = {name: shown[name] for name in ("rest", "axes", "features", "low", "high", "dots")}
    np.testing.assert_allclose(in_web("planemap", body, shown=plain), probe[cells:], atol=1e-6)


def test_a_recording_has_a_shader_unless_its_weights_are_coarse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = sv.Session(sv.Network([2, 3, 3]), data.Texture(size=16), engine="python")
    for parts in recording.PRECISIONS[:1], recording.PRECISIONS[-1:]:
        monkeypatch.setattr(recording, "PRECISIONS", parts)
        made = page_of(session, engine=False, steps=5)
        assert ("sampler2D u_fours;" in json.dumps(data_in(made.text))) is (
            parts[0].values >= SHADED
        )


def test_the_frame_of_pictures_has_each_point_in_the_middle_of_its_cell() -> None:
    for height, width in [(6, 8), (90, 81), (256, 187)]:
        texture = data.Texture(np.full((height, width, 3), 0.5))
        session = sv.Session(sv.Network([2, 3]), texture, engine="python")
        shown, probe = exhibit_data(session), probe_of(session)
        assert shown is not None
        (columns, rows), (left, top, right, bottom) = shown["size"], shown["frame"]
        across = left + (np.arange(columns) + 0.5) / columns * (right - left)
        down = top + (np.arange(rows) + 0.5) / rows * (bottom - top)
        points = probe.reshape(rows, columns, 2)
        np.testing.assert_allclose(points[0, :, 0], across)
        np.testing.assert_allclose(points[:, 0, 1], down)


PNG = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
JPEG = [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 1, 0xFF, 0xC0, 0, 17, 8, 0x01, 0x02, 0x03, 0x04, 3, 1, 1]


@pytest.mark.parametrize(
    ("head", "size"),
    [
        ([*PNG, 0, 0, 0x27, 0x10, 0, 1, 0, 0], [10_000, 65_536]),
        (PNG, [0, 0]),
        (JPEG, [0x304, 0x102]),
        (JPEG[:12], [0, 0]),
        ([0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0xFF, 0xFF], [0, 0]),
        ([*b"<svg xmlns='http://www.w3.org/2000/svg'/>"], None),
        ([*b"GIF89a"], None),
        ([], None),
    ],
)
def test_the_size_of_a_picture_is_read_before_it_is_decoded(head: Any, size: Any) -> None:
    assert in_web("ownpicture", "return sizeOf(Uint8Array.from(data.head))", head=head) == size
