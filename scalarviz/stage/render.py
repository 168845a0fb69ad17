"""Render sessions without a window: pictures and videos.

    sv.picture(session, "net.png")
    sv.record(session, "net.mp4", steps=500)

Rendering is deterministic: the same session always gives the same pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Unpack

from scalarviz.base.checks import number, require, shorten, true_or_false
from scalarviz.base.checks import size as count_of
from scalarviz.base.interrupt import Stop
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, check_place, replace_file
from scalarviz.scene.layout.camera import Camera
from scalarviz.stage.background import Portions
from scalarviz.stage.encoders import Frame, encoder_for, png
from scalarviz.stage.render_options import (
    VIDEO,
    RenderArgs,
    RenderOptions,
    drawn,
    looked,
    shown,
    with_fields,
)
from scalarviz.stage.show import NO_SWEEPS, Show, whole_number
from scalarviz.stage.stage import Stage
from scalarviz.training.follow.followed_session import rewind
from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock
from scalarviz.training.session.threads import FILM, PICTURE
from scalarviz.training.session.timeline import holding

Move = Literal["still", "orbit", "approach"]

SECONDS = 12.0  # length of a video if `every` is not given
OPERATION, LONGEST = 1.5, 60.0  # seconds for each operation in a video, default and maximum
FASTEST = 240  # frames a second
LAST = 1.0  # seconds for which the final frame is held
MOVES = ("still", "orbit", "approach")


@with_fields(RenderOptions(), gone=NO_SWEEPS)
def picture(
    session: object,
    path: object = None,
    *,
    look: RenderOptions | None = None,
    **view: Unpack[RenderArgs],
) -> Frame:
    """Render the current state of a session, and optionally write it as a PNG file.

    Args:
        session: a Session, a Show or a fitted estimator; or a list of 1 to 6 of them, or a dict
            from names to them, drawn side by side on common scales, each with its loss, with
            all loss curves below
        path: output file, .png; by default None, no file is written
        look: a RenderOptions that replaces the defaults of the options below
        **view: options of the view, fields of RenderOptions

    Returns:
        The pixels, uint8 of shape (height, width, 3).

    Raises:
        InputError: if an option is out of range.
        FileError: if the file cannot be written.
        DisplayError: if OpenGL is not available.
    """
    look = looked(look or RenderOptions(), view)
    place = None if path is None else as_path(path)
    if place is not None:
        require(
            place.suffix.lower() == ".png",
            f"a picture is saved as .png, not as {place.name!r}: rename it",
        )
        check_place(place)
    with look.canvas() as canvas, look.on(shown(session)) as stage:
        frame = drawn(canvas, stage, look)
    if place is not None:
        replace_file(place, png(frame))
    return frame


@with_fields(VIDEO)
def record(
    session: object,
    path: object,
    steps: int | None = None,
    *,
    every: int | None = None,
    unit: Literal["step", "operation"] = "step",
    film: bool = False,
    hold: float | None = None,
    fps: int = 30,
    move: Move = "still",
    cameras: Sequence[Camera] = (),
    progress: bool | Callable[[int, int], None] = True,
    look: RenderOptions | None = None,
    **view: Unpack[RenderArgs],
) -> int:
    """Train a session and write a video; return the number of frames.

    Args:
        session: a Session, a Show or a fitted estimator, whose session is advanced; or a list of 1
            to 6 of them, or a dict from names to them, drawn side by side and advanced together,
            from the step of the one that is furthest behind
        path: output file, .mp4 or .gif
        steps: number of training steps; by default None, the steps of the Show, or 2000 for a
            Session
        every: steps between two frames; by default None, chosen so that the video lasts 12 seconds
        unit: "step", the default, or "operation" to show each operation of these steps slowly
        film: if True, record the 27 pictures of `Session.play(film=True)`, 0.6 seconds each,
            instead of `steps`; by default False
        hold: seconds for each operation, up to 60; by default 1.5
        fps: frames per second, 1 to 240; by default 30
        move: movement of the camera: "still", the default, "orbit" or "approach"
        cameras: Cameras to interpolate between, instead of `move`
        progress: True, the default, shows a progress bar in a terminal or a notebook if rendering
            takes longer than a second; False shows none; a function is called with the number of
            frames done and the total
        look: a RenderOptions that replaces the defaults of the options below
        **view: options of the view, fields of RenderOptions

    Raises:
        InputError: if an option is out of range.
        FileError: if the file cannot be written.
        DisplayError: if OpenGL is not available.
    """
    look = looked(look or VIDEO, view)
    show = shown(session)
    clock: Session | SharedClock = (
        show.session if isinstance(show, Show) else SharedClock(show.sessions)
    )
    for one in [show.session] if isinstance(show, Show) else show.sessions:
        rewind(one)
    if true_or_false(film, "film") and (steps is not None or every is not None or unit != "step"):
        raise InputError("a film chooses its own steps: leave out steps, every and operations")
    steps = count_of(steps if steps is not None else show.steps, "steps")
    fps = whole_number(fps, "fps", 1, FASTEST)
    pick({each: each for each in MOVES}, move, "move of the camera")
    require(
        isinstance(cameras, (list, tuple)) and all(isinstance(each, Camera) for each in cameras),
        f"cameras takes a list of Cameras, not {shorten(cameras)}",
    )
    pick({each: each for each in ("step", "operation")}, unit, "unit of a video")
    require(
        hold is None or unit == "operation",
        "hold is the time of an operation, and this video shows steps: write unit='operation', "
        "or pass every=, the steps between two frames",
    )
    seconds = OPERATION if hold is None else number(hold, "hold", 0.0, LONGEST, open_low=True)
    every = max(1, round(steps / (SECONDS * fps))) if every is None else count_of(every, "every")
    stop = Stop()
    frames = max(1, round(fps * PICTURE)) if film else 1  # per picture
    if unit == "operation":
        pictures = max(1, round(fps * seconds))
        moments = by_operations(clock, steps, pictures)
        total = 1 + steps * len(clock.operations) * pictures
    else:
        ends = [min(each, steps) for each in range(every, steps + every, every)]
        moments = by_steps(clock, FILM[1:] if film else ends, stop)
        total = frames * len(FILM) if film else 1 + len(ends)
    encoder = encoder_for(path, look.size, look.ratio, fps)
    fixed = bool(cameras) or move != "orbit"  # otherwise the camera is fitted to the network

    def seen_from(count: int) -> Frame:
        """Return frame number `count`, rendered with the camera at its position on the path."""
        for each, path_of in zip(stage.panes, paths, strict=True):
            if path_of:
                camera = along_path(path_of, count / max(1, total - 1))
                each.eyes.camera = camera if fixed else each.eyes.whole(camera)
        return drawn(canvas, stage, look)

    with (
        look.canvas() as canvas,  # closed last: it frees the resources that the stage releases
        look.on(show) as stage,
        holding(*(each.session.timeline for each in stage.panes if unit == "step")),
        stop,
        telling(progress, total, clock) as tell,
        encoder,
    ):
        for each in stage.panes:
            each.motion.cuts = each.eyes.cuts = unit == "step"
        frame = drawn(canvas, stage, look)  # the frame to which the cameras are fitted
        paths = [camera_path(each, move, cameras) for each in stage.panes]
        if any(paths):
            frame = seen_from(0)
        encoder.add(frame, frames)
        for _ in moments:
            if stop.asked:
                raise KeyboardInterrupt  # raised between frames
            stage.tick(encoder.count / fps)
            frame = seen_from(encoder.count)
            encoder.add(frame, frames)
            tell(encoder.count, total)
        encoder.add(frame, round(LAST * fps))
    return encoder.count


def by_steps(session: Session | SharedClock, goals: Sequence[int], stop: Stop) -> Iterator[None]:
    """Advance to each of the steps `goals`, counted from the current step, and yield there.

    Stops early if `stop` is set or when the last session has stopped by itself.
    """
    portions, is_over = Portions(session), False
    first = session.step_index
    for goal in (first + each for each in goals):
        if is_over:
            return
        while session.step_index < goal and not stop.asked and not is_over:
            portions.take(goal - session.step_index)
            is_over = bool(session.stopped) if isinstance(session, Session) else session.is_over
        yield


def by_operations(session: Session | SharedClock, steps: int, pictures: int) -> Iterator[None]:
    """Advance `steps` steps by single operations, and yield `pictures` times per operation."""
    for _ in range(steps * len(session.operations)):
        session.advance(1, "operation")
        for _ in range(pictures):
            yield


def camera_path(stage: Stage, move: str, cameras: Sequence[Camera]) -> list[Camera]:
    """Return the cameras along the path of a video; empty for a fixed camera."""
    if cameras:
        return list(cameras)
    now = stage.eyes.camera
    if move == "orbit":
        return [now.orbited(angle, 0.0) for angle in (-22.0, 0.0, 22.0, 0.0)]
    return [now.zoomed(0.6), now, now.zoomed(1.8)] if move == "approach" else []


@contextmanager
def telling(
    progress: bool | Callable[[int, int], None],
    total: int,
    session: Session | SharedClock,
) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that reports progress: `progress` itself, or one that draws a bar.

    Args:
        total: number of pictures
        session: the session whose loss is shown next to the bar, or the clock shared by several
    """
    if callable(progress):
        with Progress(0, wanted=False):  # suppresses nested bars
            yield progress
        return
    with Progress(total, true_or_false(progress, "progress"), "pictures") as bar:
        yield lambda done, total: bar.tell(done, session.loss)


def along_path(path: Sequence[Camera], part: float) -> Camera:
    """Return the camera at position `part` of a path: 0 is the first camera, 1 the last."""
    place = min(max(part, 0.0), 1.0) * (len(path) - 1)
    first = min(int(place), len(path) - 2) if len(path) > 1 else 0
    return path[first].blended(path[min(first + 1, len(path) - 1)], place - first)
