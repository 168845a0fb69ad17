"""Time of a picture of each scene during playback and camera motion, and its calls.

    python -m benchmarks.scene_frames              all scenes
    python -m benchmarks.scene_frames rgb xnor     some
    python -m benchmarks.scene_frames rgb walk     by operations, also with charts

Pictures of 1280x800 without a window, one sample for each pixel: medians in milliseconds, and
medians of the calls of Python functions, counted by cProfile in separate pictures. To compare two
commits, run it in both alternately.
"""

from __future__ import annotations

import cProfile
import statistics
import sys
from time import perf_counter

from scalarviz.faces.scene_file import find, load
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.render_options import PASTS, RenderOptions, drawn, shown

SCENES = "rgb circle xor xnor digits texture micrograd expression normalized".split()
PLAYED, WALKED, FIRST, COUNTED = 40, 25, 5, 10  # pictures; the first ones do not count
SPEED = 20  # steps a second while it plays
PICTURES = 50  # a second, by the clock of the pictures
MORE = "value", "operation"


def measured(name: str, unit: str, steps: int = 50, shown_before: int = 0) -> tuple[float, int]:
    """Return milliseconds and calls, the medians of some pictures of a scene.

    Args:
        steps: of the training before the first picture
        shown_before: pictures before those whose calls are counted; 0, the default: as above
    """
    show, took, calls = load(find(name))(engine="cpu"), [], []
    session = show.session
    session.advance(steps)
    look = RenderOptions(size=(1280, 800), samples=1)
    with look.canvas() as canvas, look.on(shown(show)) as stage:
        stage.lead.patience = AT_ONCE  # as in a window
        if unit in PASTS:
            stage.common.curve_view.large = True
            stage.common.curve_view.choose(unit)
        if unit not in ("operation", "camera"):
            session.play(SPEED)
        count = shown_before or (WALKED if unit == "operation" else PLAYED)
        for number in range(count + COUNTED):
            if unit == "operation":
                session.advance(1, unit)
            if unit == "camera":
                stage.lead.eyes.orbit(0.3, 0.0)
            begin = perf_counter()
            stage.tick(number / PICTURES)
            if number < count:
                drawn(canvas, stage, look)
                took.append(perf_counter() - begin)
                continue
            profile = cProfile.Profile()
            profile.runcall(drawn, canvas, stage, look)
            calls.append(sum(each.callcount for each in profile.getstats()))
        session.pause()
    return 1e3 * statistics.median(took[FIRST:]), int(statistics.median(calls))


if __name__ == "__main__":
    more = MORE if "walk" in sys.argv else ()
    for scene in [each for each in sys.argv[1:] if each != "walk"] or SCENES:
        units = {each: measured(scene, each) for each in ("playing", "camera", *more)}
        parts = [f"{unit} {took:.1f} ms {calls:,} calls" for unit, (took, calls) in units.items()]
        print(scene, ", ".join(parts))
