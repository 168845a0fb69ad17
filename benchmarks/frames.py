"""Time of a frame of cubes, compared with vispy's InstancedMesh, and time to the first frame.

    python -m benchmarks frames [rounds]
    python -m benchmarks.sides benchmarks.frames frames|first

A frame has new numbers for every cube, colors and sizes: they are uploaded, drawn at 1280x800 and
waited for. The second line prints the seconds of each frame, or of a whole process that draws the
first picture of a scene.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import numpy as np

from benchmarks.sides import Options, in_turn, seconds_of
from tests.studio import place

WIDTH, HEIGHT = 1280, 800
PLATES = {"10 thousand": (100, 100), "1 million": (1000, 1000), "16 million": (4096, 4096)}
REPEATS = 5
FIRST = (
    "import scalarviz as sv; from scalarviz import data\n"
    "net = sv.Network([3, 8, 3], 'tanh', 'sigmoid', seed=0)\n"
    "s = sv.Session(net, data.Rgb('invert'), 'mse', sv.SGD(.5), batch=8, engine='python')\n"
    "sv.picture(s, samples=1)\n"
)


def frames() -> dict[str, list[float]]:
    """Seconds of frames, those of all kinds in turn."""
    from vispy import gloo

    from scalarviz.scene.offscreen import make_canvas

    canvas = make_canvas(WIDTH, HEIGHT)
    kinds = {name: plate_drawer(*shape) for name, shape in PLATES.items()}
    kinds["1 million, as before"] = plate_drawer(*PLATES["1 million"], fresh=False)
    kinds["1 million, InstancedMesh"] = mesh_drawer(canvas, *PLATES["1 million"])
    times: dict[str, list[float]] = {name: [] for name in kinds}
    gloo.set_viewport(0, 0, WIDTH, HEIGHT)
    for repeat in range(REPEATS + 1):
        for name, draw in kinds.items():
            start = time.perf_counter()
            gloo.clear(color="black", depth=True)
            draw(repeat)
            gloo.read_pixels((0, 0, 1, 1))
            times[name].append(time.perf_counter() - start)
    return {name: seconds[1:] for name, seconds in times.items()}


def numbers(count: int) -> list[np.ndarray]:
    """Two sets of numbers, so that each frame differs from the one before."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=count).astype(np.float32) for _ in range(2)]


def plate_drawer(rows: int, columns: int, fresh: bool = True):
    """Draws a plate that fills most of the picture, each time with fresh numbers or not."""
    from scalarviz.scene.canvas.palette import MAPS
    from scalarviz.scene.layout.camera import CAMERAS
    from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, Plate
    from scalarviz.scene.layout.points import reach_of
    from scalarviz.scene.visuals.cubes import CubesVisual

    plate = Plate(0, rows, columns, columns, np.zeros(3), RIGHT, DOWN, NEAR)
    cubes = CubesVisual([plate], plate.size)
    cubes.set_map(MAPS["dark"], "#0e1116")
    cubes.scales(2.0, 2.0)
    camera = CAMERAS["perspective"].framing(reach_of(plate.corners()), WIDTH / HEIGHT)
    place(cubes, np.array(camera.matrix(WIDTH / HEIGHT, 2.0 * max(rows, columns))), WIDTH, HEIGHT)
    sets = numbers(plate.size)

    def draw(repeat: int) -> None:
        if fresh or not repeat:
            cubes.numbers(sets[repeat % 2], sets[1 - repeat % 2])
        cubes.draw()

    return draw


def mesh_drawer(canvas, rows: int, columns: int):
    """The same with one instance of a box for each number."""
    from vispy.geometry import create_box
    from vispy.visuals import InstancedMeshVisual

    from scalarviz.scene.canvas.palette import MAPS
    from scalarviz.scene.layout.camera import CAMERAS
    from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, Plate
    from scalarviz.scene.layout.points import reach_of

    plate = Plate(0, rows, columns, columns, np.zeros(3), RIGHT, DOWN, NEAR)
    column, row = (axis.ravel() for axis in np.meshgrid(range(columns), range(rows)))
    places = plate.point(column + 0.5, row + 0.5).astype(np.float32)
    vertices, faces, _ = create_box()
    sets = numbers(plate.size)
    colors = [MAPS["dark"](each, 2.0).astype(np.float32) for each in sets]
    shapes = [
        np.eye(3, dtype=np.float32) * 2.0 * plate.halves(each, 2.0)[:, None, None] for each in sets
    ]
    shapes = [each.astype(np.float32) for each in shapes]
    mesh = InstancedMeshVisual(
        vertices["position"],
        faces,
        instance_positions=places,
        instance_transforms=shapes[0],
        instance_colors=colors[0],
    )
    mesh.set_gl_state(depth_test=True, blend=False, cull_face=False)
    camera = CAMERAS["perspective"].framing(reach_of(plate.corners()), WIDTH / HEIGHT)
    place(mesh, np.array(camera.matrix(WIDTH / HEIGHT, 2.0 * max(rows, columns))), WIDTH, HEIGHT)

    def draw(repeat: int) -> None:
        mesh.instance_colors = colors[repeat % 2]
        mesh.instance_transforms = shapes[1 - repeat % 2]
        mesh.draw()

    return draw


def first() -> float:
    """Seconds from nothing to the first picture of a scene, a whole process."""
    return seconds_of(subprocess.run, [sys.executable, "-c", FIRST], check=True)


SIDES = {"frames": frames, "first": first}


def report(options: Options) -> None:
    """Milliseconds a frame, and the ratios that count."""
    print(f"\nFrames of {WIDTH}x{HEIGHT} with new numbers for every cube; software rendering")
    found = in_turn({name: [__name__, name] for name in SIDES}, options.rounds)
    medians = {
        name: statistics.median(x for each in found["frames"] for x in each[name])
        for name in found["frames"][0]
    }
    for name, seconds in medians.items():
        print(f"    {name:26} {1e3 * seconds:8.1f} ms")
    upload = medians["1 million"] - medians["1 million, as before"]
    print(f"    of that of 1 million, {1e3 * upload:.1f} ms are for the new numbers")
    mesh = medians["1 million, InstancedMesh"] / medians["1 million"]
    growth = medians["16 million"] / medians["10 thousand"]
    print(f"    InstancedMesh takes {mesh:.1f} times as long as ours (asked for: 15)")
    print(f"    16 million take {growth:.2f} times as long as 10 thousand (3.5, aim 2.5)")
    seconds = statistics.median(found["first"])
    print(f"    to the first picture, a whole process: {seconds:.2f} s (asked for: under 2)")
