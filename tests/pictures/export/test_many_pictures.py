"""Pictures and live pictures that are gone leave no memory behind; windows: tests/faces/window/."""

import pytest

from tests.pictures.export.many_pictures import MOST, grown, linux

pytestmark = [linux, pytest.mark.usefixtures("studio")]


@pytest.mark.slow
def test_pictures_of_any_size_leave_no_memory_behind() -> None:
    assert grown("picture", 24) < MOST


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("thread", 24), ("export", 12), ("view", 48)])
def test_neither_do_those_of_threads_and_videos_and_notebooks(name: str, count: int) -> None:
    assert grown(name, count) < MOST
