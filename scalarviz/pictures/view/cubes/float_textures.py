"""Float textures, and their replacement by byte textures where the driver has none."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from vispy import gloo
from vispy.gloo import gl

from scalarviz.base.checks import FloatArray
from scalarviz.base.package_files import text_beside


def packed(data: FloatArray, floats: bool) -> Any:
    """Return float data in the shape that `texture_of` takes, as a view."""
    rows = len(data)
    if floats:
        return data.reshape(rows, data.shape[1], -1)
    return data.astype("<f4", copy=False).view(np.uint8).reshape(rows, -1, 4)


def texture_of(data: Any) -> Any:
    """Return a texture that gives back each float, or each byte / 255, unchanged."""
    kind = {1: "r32f", 4: "rgba32f"}[data.shape[2]] if data.dtype == np.float32 else None
    return gloo.Texture2D(
        data, interpolation="nearest", wrapping="clamp_to_edge", internalformat=kind
    )


SENT = np.array([3.25, -1234.5677, 4.1e8, 1.25e-20], np.float32)  # not exact in float16
UNKNOWN = 8192  # texels along a side that any driver of today has
KNOWN: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def has_float_textures() -> bool:
    """Return whether the current OpenGL context has float textures; tested once per context.

    The test draws one pixel. It changes the OpenGL state except for viewport and clipping.
    """
    canvas = gloo.get_current_canvas()
    if canvas is None:
        return True
    if canvas.context not in KNOWN:
        canvas.context.flush_commands()  # so that the viewport read below is the current one
        KNOWN[canvas.context] = arrive(SENT)
    return KNOWN[canvas.context]


def arrive(sent: FloatArray) -> bool:
    """Return whether four floats pass unchanged through an r32f and an rgba32f texture."""
    program = gloo.Program(*(text_beside(__file__, f"probe.{stage}") for stage in ("vert", "frag")))
    program["a_at"] = np.array([(-1, -1), (3, -1), (-1, 3)], np.float32)
    program["u_sent"] = sent
    viewport = gl.glGetParameter(gl.GL_VIEWPORT)
    is_clipped = bool(gl.glIsEnabled(gl.GL_SCISSOR_TEST))
    try:
        program["u_one"] = texture_of(sent[np.newaxis, :1, np.newaxis])
        program["u_four"] = texture_of(sent[np.newaxis, np.newaxis])
        with gloo.FrameBuffer(gloo.RenderBuffer((1, 1), "color")):
            gloo.set_state(depth_test=False, blend=False, cull_face=False, scissor_test=False)
            gloo.set_viewport(0, 0, 1, 1)
            program.draw("triangles")
            return bool(gloo.read_pixels((0, 0, 1, 1))[0, 0, 0] > 127)
    except RuntimeError:  # raised by vispy for an OpenGL error
        return False
    finally:
        gloo.set_viewport(*viewport)
        gloo.set_state(scissor_test=is_clipped)


def largest_texture() -> int:
    """Return the number of texels along a side of the driver's largest texture."""
    canvas = gloo.get_current_canvas()
    if canvas is None:
        return UNKNOWN
    canvas.context.flush_commands()  # asks the driver, if that was not done yet
    return canvas.context.shared.parser.capabilities["max_texture_size"] or UNKNOWN
