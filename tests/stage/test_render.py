"""Pictures, videos and pages without a window: what they hold, their pace, and their memory."""

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import shorten
from scalarviz.base.interrupt import Stop
from scalarviz.errors import FileError, InputError, UnknownNameError
from scalarviz.faces.cli.commands import application
from scalarviz.scene.layout.camera import Camera
from scalarviz.stage import background, render
from scalarviz.stage.background import PORTION, Portions
from scalarviz.stage.encoders import encoder_for
from scalarviz.stage.render_options import PASTS, RenderOptions, drawn
from tests.machine import output_of
from tests.sessions import colours
from tests.stage.many_pictures import MOST, grown, linux
from tests.wording import refused

SMALL: dict[str, Any] = {"size": (320, 200), "samples": 1}


@pytest.fixture
def session() -> sv.Session:
    return colours(data.Rgb("invert"))


def state(session: sv.Session) -> tuple[Any, ...]:
    bank = session.network.bank
    return session.clock, bank.value.tobytes(), bank.grad.tobytes(), len(session.losses)


def opened(path: Path) -> Any:
    from PIL import Image

    return Image.open(path)


@pytest.mark.usefixtures("opengl")
def test_a_picture_is_a_png_of_what_comes_back(session: sv.Session, tmp_path: Path) -> None:
    session.advance(20)
    before = state(session)
    frame = sv.picture(session, tmp_path / "net.png", **SMALL)
    assert frame.shape == (200, 320, 3) and frame.dtype == np.uint8
    assert np.array_equal(np.asarray(opened(tmp_path / "net.png")), frame)
    assert state(session) == before and session.pinned == []


@pytest.mark.usefixtures("opengl")
def test_options_and_steps_change_the_picture(session: sv.Session) -> None:
    session.advance(5)
    plain = sv.picture(session, **SMALL)
    assert np.array_equal(plain, sv.picture(session, **SMALL))
    for options in (
        {"theme": "light"},
        {"camera": "flat"},
        {"camera": Camera(azimuth=40.0, height=8.0)},
        {"color": "gradient"},
        {"cubes": "w*x"},
        {"per_layer": True},
        {"pin": 3},
        {"pin": session.network.layers[0].perceptrons[1]},
        {"samples": 2},
    ):
        assert not np.array_equal(plain, sv.picture(session, **{**SMALL, **options})), options
    assert sv.picture(session, size=(320, 200), ratio=2.0, samples=1).shape == (400, 640, 3)
    session.advance(50)
    assert not np.array_equal(plain, sv.picture(session, **SMALL))


@pytest.mark.usefixtures("opengl")
def test_samples_are_averages(session: sv.Session) -> None:
    fine = sv.picture(session, size=(320, 200), ratio=2.0, samples=1).astype(float)
    means = fine.reshape(200, 2, 320, 2, 3).mean(axis=(1, 3))
    smooth = sv.picture(session, size=(320, 200), samples=2).astype(float)
    assert np.abs(means - smooth).max() <= 1.0


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({"size": (4, 200)}, "not 4"),
        ({"size": (320, 20000)}, "20000"),
        ({"samples": 9}, "not 9"),
        ({"ratio": 0.0}, "0.0"),
        ({"theme": "dim"}, "'dim'"),
        ({"camera": "front"}, "'front'"),
        ({"colour": "value"}, "'colour'"),
        ({"color": "values"}, "'values'"),
        ({"look": "maps"}, "'maps'"),
    ],
)
def test_a_mistake_is_one_sentence(
    session: sv.Session, options: dict[str, Any], value: str, tmp_path: Path
) -> None:
    path = tmp_path / "net.png"
    refused(InputError, value).by(sv.picture, session, path, **{**SMALL, **options})
    assert not path.exists()


VIEWS: dict[Any, Any] = {sv.picture: "a.png", sv.record: "a.gif"}
VIEWS |= {sv.page: "a.html", sv.watch: None}


@pytest.mark.usefixtures("in_tmp_path")
@pytest.mark.some("picture-camera", "record-cameras", "watch-play")
@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(
    ("view", "name"),
    [(each, name) for each in VIEWS for name in [*inspect.signature(each).parameters][1:]],
)
def test_each_option_of_a_view_is_checked_before_anything_is_done(
    session: sv.Session, view: Any, name: str, tmp_path: Path
) -> None:
    given = {"path": VIEWS[view], name: object()} if VIEWS[view] else {name: object()}
    more = {"browser": True} if name in ("address", "port", "share") else {}
    with pytest.raises(InputError, match=r"object|hold"):
        view(session, **given, **more)
    assert session.step_index == 0 and not list(tmp_path.iterdir())


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("size", [(800,), (1, 2, 3), 800, "800x500", {800, 500}, np.array(5)])
def test_a_size_has_a_width_and_a_height(session: sv.Session, size: Any, tmp_path: Path) -> None:
    takes: list[tuple[Any, ...]] = [
        (sv.picture, session),
        (sv.record, session, tmp_path / "a.gif", 1),
        (sv.watch, session),
        (RenderOptions,),
    ]
    said = shorten(size.tolist() if isinstance(size, np.ndarray) else size)
    for take in takes:
        refused(InputError, said).by(*take, size=size)
    assert session.step_index == 0 and not list(tmp_path.iterdir())


@pytest.mark.some(3)
@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(
    ("save", "name"),
    [(sv.picture, "net.bmp"), (sv.record, "net.avi")],
)
def test_other_kinds_of_files_are_refused_before_anything_is_done(
    session: sv.Session, save: Callable[..., object], name: str, tmp_path: Path
) -> None:
    before = state(session)
    refused(InputError, name).by(save, session, tmp_path / name)
    assert state(session) == before and not list(tmp_path.iterdir())


@pytest.fixture
def av() -> Any:
    return pytest.importorskip("av", reason="videos take PyAV")


def pictures_in(path: Path) -> list[np.ndarray]:
    import av

    with av.open(str(path)) as file:
        return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]


@pytest.mark.usefixtures("opengl", "av")
@pytest.mark.parametrize(
    ("save", "name"),
    [(sv.picture, "png"), (sv.record, "mp4"), (sv.record, "gif")],
)
def test_what_could_not_be_kept_trains_nothing(
    session: sv.Session, save: Any, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "none" / f"a.{name}"
    refused(FileError, "'tmp_path/none'").by(save, session, path, **SMALL)
    assert session.step_index == 0


@pytest.mark.usefixtures("opengl")
@pytest.mark.some(1)
@pytest.mark.parametrize("unit", ["step", "operation"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_video_of_steps_holds_its_sample(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int, unit: Any
) -> None:
    seen: list[Any] = []

    def noted(canvas: Any, stage: Any, look: RenderOptions) -> Any:
        frame = drawn(canvas, stage, look)
        seen.append([each.reading.way.values["inputs"].tolist() for each in stage.panes])
        return frame

    monkeypatch.setattr(render, "drawn", noted)
    sessions = [
        sv.Session(sv.Network([3, 2, 3]), data.Rgb("invert"), batch=8) for _ in range(count)
    ]
    sv.record(
        sessions,
        tmp_path / "a.gif",
        4,
        every=1,
        unit=unit,
        hold=0.1 if unit == "operation" else None,
        fps=10,
        **SMALL,
    )
    assert sum(a != b for a, b in pairwise(seen[1:])) == (0 if unit == "step" else 3)


@pytest.mark.usefixtures("opengl")
def test_a_film_has_27_pictures_on_a_logarithmic_clock(session: sv.Session, tmp_path: Path) -> None:
    refused(InputError, "its own steps").by(sv.record, session, tmp_path / "a.gif", 9, film=True)
    assert sv.record(session, tmp_path / "a.gif", film=True, fps=5, **SMALL) == 27 * 3 + 5
    with opened(tmp_path / "a.gif") as gif:
        pictures = {gif.seek(i) or gif.convert("RGB").tobytes() for i in range(gif.n_frames)}
    assert len(pictures) == 27 and session.step_index == 2964


@pytest.mark.usefixtures("opengl")
def test_a_look_is_kept_and_its_options_can_be_changed(session: sv.Session, tmp_path: Path) -> None:
    look = RenderOptions(size=(160, 100), samples=1)
    sv.record(session, tmp_path / "a.gif", 1, every=1, fps=2, look=look)
    with opened(tmp_path / "a.gif") as gif:
        assert gif.size == (160, 100)
    assert sv.picture(session, look=look, size=(200, 120)).shape == (120, 200, 3)


@pytest.mark.usefixtures("opengl")
def test_in_the_middle_of_a_step_it_shows_what_was_done_last(session: sv.Session) -> None:
    session.advance(1, "operation")
    frames = []
    for _ in range(3):
        session.advance(1, "operation")
        frames.append(sv.picture(session, size=(640, 480), samples=1, camera="flat"))
    assert all((a != b).any(axis=2).mean() > 0.02 for a, b in pairwise(frames))


@pytest.mark.usefixtures("opengl", "av")
def test_a_video_trains_and_has_as_many_pictures_as_it_says(
    session: sv.Session, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    count = sv.record(
        session,
        tmp_path / "net.mp4",
        steps=20,
        every=5,
        fps=10,
        progress=lambda done, total: told.append((done, total)),
        **SMALL,
    )
    assert session.step_index == 20 and count == 5 + 10
    assert told == [(2, 5), (3, 5), (4, 5), (5, 5)]
    frames = pictures_in(tmp_path / "net.mp4")
    assert len(frames) == count and frames[0].shape == (200, 320, 3)
    apart = [np.abs(a.astype(int) - b).mean() for a, b in pairwise(frames[:5])]
    assert min(apart) > 0.05  # every one of them shows something else


@pytest.mark.usefixtures("opengl")
def test_a_time_of_operations_is_a_time_and_goes_with_operations(
    session: sv.Session, tmp_path: Path
) -> None:
    refused(InputError, "unit='operation'").by(sv.record, session, tmp_path / "x.gif", 1, hold=0.5)
    for hold in (0.0, 61.0, "long"):
        refused(InputError, hold).by(
            sv.record, session, tmp_path / "x.gif", 1, unit="operation", hold=hold
        )
    assert session.step_index == 0


@pytest.mark.usefixtures("opengl")
@pytest.mark.slow
def test_in_a_video_light_moves_in_every_operation_and_its_caption_can_be_read(
    session: sv.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, float, str]] = []

    def noted(canvas: Any, stage: Any, look: Any) -> Any:
        frame_data = stage.lead.frame_data()
        assert len(frame_data.strip) == len(session.operations)
        seen.append((frame_data.current, frame_data.part, frame_data.words.caption.title))
        return drawn(canvas, stage, look)

    monkeypatch.setattr(render, "drawn", noted)
    small = {**SMALL, "size": (96, 64)}
    sv.record(session, tmp_path / "op.gif", 1, unit="operation", fps=10, **small, progress=False)
    for number, _ in enumerate(session.operations, 1):
        parts = [part for current, part, _ in seen[1:] if current == number]
        assert len(parts) >= 12, "1.2 seconds"
        assert parts == sorted(parts) and parts[0] == 0.0 and parts[-1] == 1.0
        assert len(set(parts)) >= 8
        (said,) = {title for current, _, title in seen[1:] if current == number}
        session.seek(0)
        session.advance(number, "operation")
        assert said == session.caption().title


@pytest.mark.slow
@pytest.mark.usefixtures("opengl", "av")
def test_the_camera_of_a_video_can_move(session: sv.Session, tmp_path: Path) -> None:
    session.learning_rate = 0.0  # nothing else moves
    sv.record(session, tmp_path / "orbit.mp4", 4, every=1, move="orbit", **SMALL)
    frames = [frame.astype(int) for frame in pictures_in(tmp_path / "orbit.mp4")]
    assert np.abs(frames[1][40:150, :320] - frames[3][40:150, :320]).mean() > 1.0
    refused(UnknownNameError, "'spin'").by(
        sv.record, session, tmp_path / "no.mp4", 4, move="spin", **SMALL
    )
    assert not (tmp_path / "no.mp4").exists()


@pytest.mark.usefixtures("opengl")
def test_layouts_that_are_gone_are_refused(session: sv.Session, tmp_path: Path) -> None:
    words = ["render", "rgb", "-o", "x.png", "--layout", "posters"]
    takes: list[tuple[Any, ...]] = [
        (sv.picture, session),
        (sv.record, session, tmp_path / "no.mp4", 1),
        (sv.Cubes, session),
    ]
    for take in takes:
        refused(Exception, "layout").by(*take, layout="posters")
    refused(Exception, "layout").by(application(words), words, standalone_mode=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("opengl")
@pytest.mark.slow
def test_a_video_approaches_turns_and_passes_cameras(
    session: sv.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Camera] = []

    def noted(canvas: Any, stage: Any, look: Any) -> Any:
        frame = drawn(canvas, stage, look)
        seen.append(stage.lead.eyes.camera)
        return frame

    monkeypatch.setattr(render, "drawn", noted)

    def passed(**move: Any) -> tuple[Camera, list[Camera]]:
        """The camera at rest, and those of the frames."""
        seen.clear()
        sv.record(session, tmp_path / "it.gif", 4, every=1, **SMALL, **move, progress=False)
        return seen[0], seen[1:]

    rest, cameras = passed(move="approach")
    heights = [camera.height / rest.height for camera in cameras]
    assert heights[0] > 1.5 and heights[-1] < 0.6 and heights == sorted(heights, reverse=True)
    own = [replace(rest, azimuth=10.0), replace(rest, height=0.5 * rest.height)]
    cameras = passed(cameras=own)[1]
    for camera, given in zip((cameras[0], cameras[-1]), own, strict=True):
        assert camera.azimuth == pytest.approx(given.azimuth)
        assert camera.height == pytest.approx(given.height)
    angles = [camera.azimuth - rest.azimuth for camera in passed(move="orbit")[1]]
    assert min(angles) == angles[0] == -22.0 and max(angles) > 15.0 and angles[-1] == 0.0
    assert len({camera.height for camera in seen[1:]}) > 1  # each fits the network


@pytest.mark.usefixtures("opengl", "av")
def test_a_video_that_fails_leaves_no_file_and_an_old_one_whole(
    session: sv.Session, tmp_path: Path
) -> None:
    path = tmp_path / "net.mp4"
    path.write_bytes(b"old")

    with pytest.raises(KeyboardInterrupt):
        sv.record(
            session,
            path,
            steps=4,
            every=1,
            progress=Mock(side_effect=KeyboardInterrupt),
            pin=3,
            **SMALL,
        )
    assert session.pinned == []
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


FIRST_PICTURE = """
import sys
import scalarviz as sv
s = sv.Session(sv.Network([3, 8, 3]), sv.data.Rgb("invert"), batch=8, engine="python")
sv.picture(s, sys.argv[1])
print("numba" in sys.modules)
"""


@pytest.mark.usefixtures("opengl")
def test_a_first_picture_does_not_wait_for_a_compiler(tmp_path: Path) -> None:
    assert output_of("-c", FIRST_PICTURE, str(tmp_path / "net.png")) == "False\n"


@pytest.mark.usefixtures("opengl")
def test_a_video_ends_where_the_training_stops_by_itself() -> None:
    s = sv.Session(sv.Network([2, 3, 1], seed=0), sv.data.Xor(), optimizer=sv.SGD(1e20))
    s.stop_when("not finite", "loss < 100")
    with Stop() as stop:
        assert len(list(render.by_steps(s, range(2, 51, 2), stop))) == 1 and s.step_index == 1
        s.stop_when("not finite")
        assert len(list(render.by_steps(s, range(1, 51), stop))) < 10
    assert "not finite" in s.stopped


@pytest.mark.usefixtures("opengl")
@pytest.mark.some(1)
@pytest.mark.parametrize("past", PASTS)
def test_a_picture_may_show_the_past_below_the_network(session: sv.Session, past: str) -> None:
    session.engine = "cpu"
    session.advance(60)
    before = state(session)
    look: dict[str, Any] = {"size": (640, 400), "samples": 1}
    plain = sv.picture(session, **look)
    frame = sv.picture(session, **look, past=past)
    assert state(session) == before
    assert np.array_equal(frame, sv.picture(session, **look, past=past))  # it waits for all of it
    assert np.array_equal(frame[:36, :290], plain[:36, :290])  # not the legend: cubes are smaller
    assert (frame[170:300, 60:400] != plain[170:300, 60:400]).any(axis=2).mean() > 0.3
    assert len({frame.tobytes(), plain.tobytes()}) == 2
    refused(UnknownNameError, "unknown past 'landscape'").by(
        sv.picture, session, **look, past="landscape"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_videos_may_show_the_past(session: sv.Session, tmp_path: Path) -> None:
    session.engine = "cpu"
    session.advance(40)
    session.seek(0)
    path = tmp_path / "run.gif"
    look: dict[str, Any] = {"size": (640, 400), "samples": 1}
    sv.record(session, path, steps=40, every=20, past="value", **look)
    frames = []
    with opened(path) as film:
        for i in range(film.n_frames):
            film.seek(i)
            frames.append(np.asarray(film.convert("RGB")).astype(int))
    below = slice(230, 300), slice(60, 480)
    apart = np.abs(frames[-1][below] - frames[0][below]).max(axis=2) > 60
    assert 0.0 < apart.mean() < 0.1  # the present step alone has moved


SIZE = (64, 48)


def frames(count: int) -> np.ndarray:
    coarse = np.random.default_rng(0).integers(0, 256, (count, 3, 4, 3), dtype=np.uint8)
    return coarse.repeat(16, axis=1).repeat(16, axis=2)


@pytest.mark.usefixtures("av")
def test_a_video_holds_its_pictures_and_begins_with_its_index(tmp_path: Path) -> None:
    path, shown = tmp_path / "a.mp4", frames(30)
    with encoder_for(path, SIZE, 1.0, 10) as encoder:
        for frame in shown:
            encoder.add(frame)
    data = path.read_bytes()
    assert 0 < data.find(b"moov") < data.find(b"mdat")  # a browser can play it from the start
    read = pictures_in(path)
    assert max([np.abs(a.astype(int) - b).mean() for a, b in zip(read, shown, strict=True)]) < 20.0


# A process that writes videos for ever is killed at a random moment, again and again.
KILLS = """
import os, random, signal, sys, time
import numpy as np
from scalarviz.stage.encoders import encoder_for

path, kills = sys.argv[1], int(sys.argv[2])
frames = np.random.default_rng(0).integers(0, 256, (100, 48, 64, 3), dtype=np.uint8)
chance = random.Random(0)
for _ in range(kills):
    child = os.fork()
    while not child:
        with encoder_for(path, (64, 48), 1.0, 10) as encoder:
            for frame in frames[: chance.randrange(1, 100)]:
                encoder.add(frame)
    time.sleep(chance.uniform(0.05, 0.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
with encoder_for(path, (64, 48), 1.0, 10) as encoder:
    encoder.add(frames[0])
"""


@pytest.mark.usefixtures("av")
@pytest.mark.some(1)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process as Unix does")
@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [".mp4", ".gif"])
def test_a_kill_leaves_a_whole_video_and_no_temporary_file(
    kind: str, kills: int, tmp_path: Path
) -> None:
    folder, temporary = tmp_path / "folder", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    output_of("-c", KILLS, str(folder / f"a{kind}"), str(kills), env=environment, seconds=120)
    assert not os.listdir(temporary)
    assert [each for each in os.listdir(folder) if not each.endswith(".part")] == [f"a{kind}"]


class FakeSession:
    """A session whose steps take some seconds of a clock of its own, and do nothing else."""

    step_index, now = 0, 0.0

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def advance(self, count: int) -> None:
        self.step_index += count
        self.now += count * self.seconds


@pytest.fixture
def fake_session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    made = FakeSession(1e-6)
    monkeypatch.setattr(background, "perf_counter", lambda: made.now)
    return made


def take(portions: Portions, count: int) -> None:
    for _ in range(count):
        portions.take(np.inf)


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 0.5])
def test_a_portion_takes_about_as_long_whatever_a_step_costs(
    fake_session: FakeSession, seconds: float
) -> None:
    portions = Portions(fake_session)
    for fake_session.seconds in (1e-6, seconds):  # it may become smaller
        take(portions, 30)
    start = fake_session.now
    take(portions, 1)
    assert max(PORTION / 2, seconds) <= fake_session.now - start <= max(2 * PORTION, seconds) * 1.01


@linux
@pytest.mark.usefixtures("studio")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"), [("picture", 24), ("thread", 24), ("export", 12), ("view", 48)]
)
def test_pictures_videos_and_views_leave_no_memory_behind(name: str, count: int) -> None:
    assert grown(name, count) < MOST
