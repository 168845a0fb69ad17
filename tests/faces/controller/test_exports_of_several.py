"""Videos of several sessions from one face: all of them, side by side, with their whole past."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.faces.controller import export
from scalarviz.faces.controller.export import export_to, export_video
from scalarviz.stage import render
from tests.faces.controller.test_group import Face, make

PROGRAM = """
import json, os, sys
files = {name: os.path.getsize(os.path.join(sys.argv[2], name)) for name in os.listdir(sys.argv[2])}
open(sys.argv[3], "w").write(json.dumps([files, json.loads(sys.argv[4])]))
"""


@pytest.fixture
def face() -> Iterator[Face]:
    made = Face(make(), make(first=2), make((3, 3)))
    yield made
    made.group.quit()
    made.group.rest()
    made.group.leave()


def test_a_video_is_of_all_sessions_as_they_are_seen(
    face: Face, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "COMMAND", ("-c", PROGRAM, "-"))
    export_video(face.group, tmp_path / "all.mp4")
    assert "nothing to make a video of" in " ".join(face.told())
    face.press("right", "right", "d")
    face.stage.pin([4, 7, None])
    face.stage.color = "difference to first"
    export_video(face.group, tmp_path / "all.mp4")
    face.until((tmp_path / "all.mp4").exists)
    face.until(lambda: not face.group.lead.exports.going)
    files, told = json.loads((tmp_path / "all.mp4").read_text())
    assert set(files) == {f"{number}.safetensors" for number in range(3)} and all(files.values())
    assert told["titles"] == list(face.group.names) and told["what"] == "video"
    look = told["look"]
    assert (look["theme"], look["pin"]) == ("light", [4, 7, None])
    assert look["color"] == "difference to first"
    assert f"Exported to {tmp_path / 'all.mp4'}" in " ".join(face.told())


def test_of_one_session_it_is_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, face: Face
) -> None:
    monkeypatch.setattr(export, "COMMAND", ("-c", PROGRAM, "-"))
    face.press("right")
    lead = face.group.lead
    group = type(face.group).of(lead)
    for path in (tmp_path / "a.mp4", tmp_path / "b.mp4"):
        export_video(group, path) if path.stem == "a" else export_to(lead, path, "video")
        face.until(path.exists)
        face.until(lambda: not lead.exports.going)
    first, second = ((tmp_path / name).read_text() for name in ("a.mp4", "b.mp4"))
    assert json.loads(first)[1] == json.loads(second)[1]


def drawn_steps(
    sessions: list[sv.Session], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[list[int]]:
    """The steps of the sessions in the pictures of the video that is drawn of their saved runs."""
    found: list[list[int]] = []

    def record(several: Any, path: str, steps: int, **options: Any) -> None:
        assert several.replays
        clock = render.SharedClock(several.sessions, replays=True)
        for _ in render.by_steps(clock, steps, 5, render.Stop()):
            found.append([session.step_index for session in several.sessions])

    folder.mkdir()
    for number, session in enumerate(sessions):
        session.save(folder / f"{number}.safetensors", progress=False)
    monkeypatch.setattr(render, "record", record)
    about = {"titles": [str(i) for i in range(len(sessions))], "what": "video", "look": {}}
    export.main(str(folder), "all.gif", json.dumps(about))
    assert not folder.exists()
    return found


def test_each_past_is_drawn_to_its_end_though_it_stopped_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, free = make(), make((3, 3))
    stopped.stop_when("loss < 100")
    stopped.advance(7)
    assert stopped.step_index == 1 and stopped.stopped
    stopped.advance(6)
    free.advance(12)
    found = drawn_steps([stopped, free], tmp_path / "a", monkeypatch)
    assert found == [[5, 5], [7, 10], [7, 12]]


def test_a_video_ends_where_the_last_session_stops_by_itself(tmp_path: Path) -> None:
    first, second = make(), make((3, 3))
    first.stop_when("loss < 100")
    second.stop_when(lambda view: view.step == 4)
    options: dict[str, Any] = {"size": (160, 100), "samples": 1, "fps": 1}
    assert sv.record([first, second], tmp_path / "both.gif", 20, every=2, **options) == 4
    assert (first.step_index, second.step_index) == (1, 4)


@pytest.mark.slow
def test_a_video_of_three_sessions_is_written(face: Face, tmp_path: Path) -> None:
    face.press("right", "right")
    export_video(face.group, tmp_path / "all.gif")
    face.until(lambda: not face.group.lead.exports.going, 120.0)
    assert (tmp_path / "all.gif").stat().st_size > 1000, face.told()
    assert face.steps == [2, 2, 2]
