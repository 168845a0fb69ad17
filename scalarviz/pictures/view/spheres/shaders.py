"""Shaders of spheres and wires: a vertex and a fragment shader each."""

from __future__ import annotations

from scalarviz.base.package_files import text_beside
from scalarviz.pictures.view.cubes.shaders import KEY_LIGHT, TRANSFORMS

SPHERE = (
    text_beside(__file__, "sphere.vert") + TRANSFORMS + KEY_LIGHT,
    text_beside(__file__, "sphere.frag"),
)
WIRE = text_beside(__file__, "wire.vert") + TRANSFORMS, text_beside(__file__, "wire.frag")
