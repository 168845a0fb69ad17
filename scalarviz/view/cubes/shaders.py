"""The shaders of the cubes, in GLSL 1.20, which every OpenGL since 2.1 understands.

One box is drawn for every plate. For each of its pixels the ray of sight is followed from cell to
cell of the grid; the first cube that it meets is what is seen. Cubes of a few pixels become flat
squares with smooth edges. Where they are smaller than pixels the mean of those that a pixel covers
is taken instead, from a table of means.

Places on a plate are (column, row, height). The address of a number is a pair, the row and the
column of the texture, since a float counts exactly only to 16,777,216.

What is said of each plate is a line of the texture `plates`:

    0  columns, rows, address of its first number
    1  the stride from row to row as an address, 1 / color scale, log2 of the largest size
    2  1 / the range of sizes, how bright (1, or less where it takes no part), white light, levels
    3  light that runs: its axis (0 none, 1 over columns, 2 over rows), place, width, strength
    4  where its means are: the corner, and the columns and rows of the first level
    5  light on the sides of the cubes: at higher columns, lower columns, higher rows, lower rows
    6  columns and rows of a small plate; cells from one to the next, to the right and downwards
    7  numbers from one small plate to the next, to the right and downwards
"""

from scalarviz.package_files import text_beside

SPLIT = 4096  # columns of the texture of numbers; a power of two
TEXELS = 8  # of a line of `plates`
STEPS = 512  # cells that a ray goes through at most
HALF = 0.46  # of a cell: half the side of the largest cube
LEAST = 0.35  # of that: the smallest cube
COLORS = 512  # in the table of colors
# Cells a pixel: where cubes become flat squares with smooth edges, and where these become means.
FLAT_FROM, FLAT_TO, MEANS_FROM, CUBES_TO = 0.22, 0.4, 0.75, 1.05
DECADES = 4.0  # of sizes, from the smallest cube to the largest

# vispy puts the transforms of the view where `$` is.
TRANSFORMS = """
vec4 to_clip(vec4 point) { return $transform(point); }
vec4 from_clip(vec4 point) { return $inverse(point); }
"""
VERTEX = text_beside(__file__, "box.vert") + TRANSFORMS


def fragment(texels: str) -> str:
    """The fragment shader; `texels` is how texels become numbers, one of `float_textures`."""
    constants = {
        "HALF": HALF,
        "LEAST": LEAST,
        "SPLIT": float(SPLIT),
        "STEPS": STEPS,
        "FLAT_FROM": FLAT_FROM,
        "FLAT_TO": FLAT_TO,
        "MEANS_FROM": MEANS_FROM,
        "CUBES_TO": CUBES_TO,
        "COLOR_SPAN": 0.5 * (COLORS - 1) / COLORS,
    }
    defines = [f"#define {name} {value}" for name, value in constants.items()]
    return "\n".join(["#version 120", *defines, text_beside(__file__, "cubes.frag"), texels])
