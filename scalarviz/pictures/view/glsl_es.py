"""Our shaders as GLSL ES 3.00, for WebGL 2: the same text, in other words.

They are written in GLSL 1.20 without what ES lacks: no implicit conversions, no names that are
keywords there.
"""

from __future__ import annotations

import re

from scalarviz.base.package_files import text_beside
from scalarviz.pictures.draw2d import batch
from scalarviz.pictures.view.cubes import shaders
from scalarviz.pictures.view.cubes.shaders import BYTES, FLOATS
from scalarviz.pictures.view.spheres.shaders import SPHERE, WIRE

CANVAS = (
    text_beside(batch.__file__, "canvas.vert"),
    text_beside(batch.__file__, "canvas.frag"),
)
# Vertex and fragment shader of each program, as vispy gets them.
PROGRAMS = {
    "cubes": (shaders.VERTEX, shaders.fragment(FLOATS)),
    "near cubes": (shaders.VERTEX, shaders.fragment(FLOATS, far=False)),
    "cubes by bytes": (shaders.VERTEX, shaders.fragment(BYTES)),
    "spheres": SPHERE,
    "wires": WIRE,
    "canvas": CANVAS,
}
HEADER = "#version 300 es\n" + "".join(
    f"precision highp {kind};\n" for kind in ("float", "int", "sampler2D")
)
COLOR = "out vec4 o_color;\n"


def as_es(text: str, *, fragment: bool) -> str:
    """Return a shader in GLSL ES 3.00.

    The transforms that vispy inserts at `$transform` and `$inverse` become matrices, `u_transform`
    and `u_inverse`. The color of a fragment is `o_color`.

    text      the shader in GLSL 1.20
    fragment  whether it is a fragment shader
    """
    changes = [
        (r"^#version .*\n", ""),
        (r"\battribute\b", "in"),
        (r"\bvarying\b", "in" if fragment else "out"),
        (r"\btexture2D\b", "texture"),
        (r"\bgl_FragColor\b", "o_color"),
    ]
    head = HEADER + (COLOR if fragment else "")
    for name in ("transform", "inverse"):
        if f"${name}(" in text:
            head += f"uniform mat4 u_{name};\n"
        changes.append((rf"\${name}\(", f"u_{name} * ("))
    for found, instead in changes:
        text = re.sub(found, instead, text, flags=re.MULTILINE)
    return head + text
