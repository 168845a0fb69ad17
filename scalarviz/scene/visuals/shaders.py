"""The shaders of cubes, spheres and wires, in GLSL 1.20, which every OpenGL since 2.1 supports.

Each plate is drawn as one box. If a plate has a seat and few cubes, each cube is drawn as a box
instead, unless cubes may be drawn flat. The fragment shader follows the view ray of a pixel from
cell to cell of the grid to the first cube that it hits. Cubes of a few pixels are drawn as flat
squares with smooth edges. Where cubes are smaller than a pixel, mip levels are sampled instead.

Positions on a plate are (column, row, height). The side of a cube is the side of the largest cube
times the cube root of its number relative to the scale, but at least LEAST or LEAST_ON_WALL of it.
The address of a number is a pair (row, column) in the texture, since a float represents integers
exactly only up to 16,777,216.

The shaders get the data of a plate as attributes of four numbers each, named by TABLE:

    grid     columns, rows, address of the first number
    scales   stride from row to row as an address, 1 / color scale, 1 / size scale
    looks    brightness (1 or less), 1 for biases, number of mip levels, brightness out of focus
    means    mip levels: corner in the texture, columns and rows of level 1
    tile     columns and rows of a tile; cells from one tile to the next, to the right and downwards
    strides  numbers from one tile to the next, to the right and downwards; size of a cell
    focus    the cells in focus: first column and row, last column and row
    bar      half the width and depth of bars, or 0; the way up, along columns and along rows
"""

from __future__ import annotations

import re

from scalarviz.base.package_files import text_beside
from scalarviz.scene.canvas import canvas2d
from scalarviz.scene.layout.plates import LEAST, LEAST_ON_WALL, MOST, THINNEST

SPLIT = 4096  # columns of the texture of numbers; a power of two
TABLE = "grid", "scales", "looks", "means", "tile", "strides", "focus", "bar"
STEPS = 512  # maximum cells that a ray passes
COLORS = 1025  # entries of the color table: odd, so that the middle one is the color of 0
# Cells per pixel: where cubes become flat squares, and where these become mip levels.
FLAT_FROM, FLAT_TO, MEANS_FROM, CUBES_TO = 0.5, 0.65, 0.75, 1.05
OBLIQUE = 4.0  # maximum length of a pixel on an oblique plate, relative to its width
DIM = 0.35  # brightness out of focus

HOLLOW, LINE = 1.001 * LEAST, 1.3  # maximum size of glass cubes; pixels of an edge

# The transform of the view, which vispy would chain from many in float32.
TRANSFORMS = """
uniform mat4 u_transform;
uniform mat4 u_inverse;
vec4 to_clip(vec4 point) { return u_transform * point; }
vec4 from_clip(vec4 point) { return u_inverse * point; }
"""
BOX = text_beside(__file__, "box.vert") + TRANSFORMS + text_beside(__file__, "key_light.glsl")
WALK = text_beside(__file__, "cubes.frag")


def cubes(*, far: bool = True, seated: bool = True, bars: bool = False) -> tuple[str, str]:
    """Return the vertex and the fragment shader of cubes.

    Args:
        far: whether cubes may be drawn flat or as mip levels because they are small
        seated: whether plates may have a seat
        bars: whether plates may have bars
    """
    constants = {
        "FAR": int(far),
        "SEATED": int(seated),
        "BARS": int(bars),
        "THINNEST": THINNEST,
        "LEAST": LEAST,
        "LEAST_ON_WALL": LEAST_ON_WALL,
        "MOST": MOST,
        "SPLIT": float(SPLIT),
        "STEPS": STEPS,
        "HOLLOW": HOLLOW,
        "LINE": LINE,
        "OBLIQUE": OBLIQUE,
        "FLAT_FROM": FLAT_FROM,
        "FLAT_TO": FLAT_TO,
        "MEANS_FROM": MEANS_FROM,
        "CUBES_TO": CUBES_TO,
        "COLOR_SPAN": 0.5 * (COLORS - 1) / COLORS,
    }
    defines = [f"#define {name} {value}" for name, value in constants.items()]
    head = ["#version 120", *defines, text_beside(__file__, "cells.glsl")]
    return "\n".join([*head, BOX]), "\n".join([*head, WALK])


SPHERE = text_beside(__file__, "sphere.vert") + TRANSFORMS, text_beside(__file__, "sphere.frag")
GROUND = text_beside(__file__, "ground.vert") + TRANSFORMS, text_beside(__file__, "ground.frag")
POOL = GROUND[0], text_beside(__file__, "pool.frag")
WIRE = text_beside(__file__, "wire.vert") + TRANSFORMS, text_beside(__file__, "wire.frag")


# The same text as GLSL ES 3.00, for WebGL 2. It avoids features missing in ES: no implicit
# conversions, no names that are keywords there.

CANVAS = (
    text_beside(canvas2d.__file__, "canvas.vert"),
    text_beside(canvas2d.__file__, "canvas.frag"),
)
# Vertex and fragment shader of each program, in the form for vispy.
PROGRAMS = {
    "cubes": cubes(),
    "near cubes": cubes(far=False),
    "cubes without seats": cubes(seated=False),
    "bars": cubes(far=False, seated=False, bars=True),
    "pool": POOL,
    "grounds": GROUND,
    "spheres": SPHERE,
    "wires": WIRE,
    "canvas": CANVAS,
    "lines": (CANVAS[0], CANVAS[1].replace("#define LINES 0", "#define LINES 1")),
}
ES_HEADER = "#version 300 es\n" + "".join(
    f"precision highp {kind};\n" for kind in ("float", "int", "sampler2D")
)
ES_COLOR = "out vec4 o_color;\n"


def as_es(text: str, *, fragment: bool) -> str:
    """Return a shader translated to GLSL ES 3.00.

    Fragment shaders write their color to `o_color`.

    Args:
        text: the shader in GLSL 1.20
        fragment: whether it is a fragment shader
    """
    changes = [
        (r"^#version .*\n", ""),
        (r"\battribute\b", "in"),
        (r"\bvarying\b", "in" if fragment else "out"),
        (r"\btexture2D\b", "texture"),
        (r"\bgl_FragColor\b", "o_color"),
    ]
    head = ES_HEADER + (ES_COLOR if fragment else "")
    for found, instead in changes:
        text = re.sub(found, instead, text, flags=re.MULTILINE)
    return head + text
