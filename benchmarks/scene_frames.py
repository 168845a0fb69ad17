"""How long a picture of each scene takes while it plays, and operation by operation.

    python -m benchmarks.scene_frames              all scenes
    python -m benchmarks.scene_frames rgb xnor     some

Pictures of 1280x800 without a window, one sample for each pixel: medians in milliseconds. To
compare two commits, run it in both by turns.
"""

from __future__ import annotations

import statistics
import sys
from time import perf_counter

from scalarviz.faces.scene_file import find, load
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.render_options import PASTS, RenderOptions, drawn, shown

SCENES = "rgb circle xnor digits texture".split()
PLAYED, WALKED, FIRST = 60, 25, 5  # pictures of each kind, of which the first ones do not count
SPEED = 20  # steps a second while it plays


def milliseconds(name: str, unit: str) -> float:
    """Return the median of some pictures of a scene."""
    show, took = load(find(name))(engine="cpu"), []
    session = show.session
    session.advance(50)
    look = RenderOptions(size=(1280, 800), samples=1)
    with look.canvas() as canvas, look.on(shown(show)) as stage:
        stage.lead.reduced_motion = unit != "light"  # which there is in a window
        if unit in PASTS:
            stage.curve_view.large, stage.lead.patience = True, AT_ONCE
            stage.curve_view.choose(unit)
        if unit != "operation":
            session.play(SPEED)
        for _ in range(WALKED if unit == "operation" else PLAYED):
            if unit == "operation":
                session.advance(1, unit)
            begin = perf_counter()
            if unit == "light":
                stage.tick(begin)
            drawn(canvas, stage, look)
            took.append(perf_counter() - begin)
        session.pause()
    return 1e3 * statistics.median(took[FIRST:])


if __name__ == "__main__":
    for scene in sys.argv[1:] or SCENES:
        units = "step", "light", "value", "landscape", "operation"
        played, lit, past, plane, walked = (milliseconds(scene, unit) for unit in units)
        print(
            f"{scene:10} playing {played:6.1f} ms, with the light of steps {lit:6.1f} ms, "
            f"with weights over time {past:6.1f} ms, with the landscape {plane:6.1f} ms, "
            f"operation by operation {walked:6.1f} ms"
        )
