"""Pictures and videos of several sessions, without a window."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.pictures.presenter.test_side_by_side import rgb, xor
from tests.wording import refused

pytestmark = pytest.mark.usefixtures("opengl")

SMALL: dict[str, Any] = {"size": (640, 420), "samples": 1}


def test_one_session_in_a_list_is_drawn_as_by_itself() -> None:
    session = rgb()
    assert np.array_equal(sv.picture([session], **SMALL), sv.picture(session, **SMALL))


@pytest.mark.parametrize(
    ("make", "options", "value"),
    [
        (list, {}, "none"),
        (lambda: [xor() for _ in range(7)], {}, "7"),
        (lambda: [xor(), 3], {}, "3"),
        (lambda: [xor()] * 2, {}, "are the same"),
        (lambda: [xor(), rgb()], {"theme": "dim"}, "'dim'"),
        (lambda: [xor(), rgb()], {"color": "values"}, "'values'"),
        (lambda: [xor(), rgb()], {"pin": [1, 2, 3]}, "3 parts"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    make: Any, options: dict[str, Any], value: str, tmp_path: Path
) -> None:
    path = tmp_path / "both.png"
    with refused(InputError, value):
        sv.picture(make(), path, **SMALL, **options)
    assert not path.exists()


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


def test_a_video_of_operations_goes_through_the_phases_together(tmp_path: Path) -> None:
    sessions = [rgb((3, 3)), rgb()]
    path = tmp_path / "step.gif"
    options: dict[str, Any] = {"unit": "operation", "hold": 0.5, "fps": 2, "size": (320, 200)}
    count = sv.record(sessions, path, steps=1, **options)
    assert count == 1 + len(sessions[1].operations) + 2
    assert [session.clock.place for session in sessions] == [(6, 0), (6, 0)]


def frames_of(path: Path) -> np.ndarray:
    from PIL import Image, ImageSequence

    with Image.open(path) as image:
        return np.stack([np.asarray(f.convert("RGB")) for f in ImageSequence.Iterator(image)])


def test_a_storyboard_is_of_one_session(tmp_path: Path) -> None:
    with refused(InputError, "several"):
        sv.storyboard([rgb(), xor()], tmp_path / "step.html")
    with refused(InputError, "several"):
        sv.page([rgb(), xor()], tmp_path / "page.html")
