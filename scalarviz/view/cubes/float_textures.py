"""Texels: how numbers get to the graphics card: as floats, or as bytes where it takes no floats."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from vispy import gloo
from vispy.gloo import gl

from scalarviz.checks.numbers import FloatArray

# Where textures hold floats, a texel is a number of `numbers`, or four of `plates`.
FLOATS = """
float one_number(vec2 at) {
    return texture2D(u_numbers, at / u_numbers_size).r;
}

vec4 four_numbers(float part) {
    return texture2D(u_plates, vec2(part + 0.5, v_plate + 0.5) / u_plates_size);
}

bool is_number(float value) {
    return value <= 0.0 || value > 0.0;
}
"""

# Where they do not, a texel is the four bytes of a float as they lie in memory: the fraction, its
# lowest byte first, then the exponent and the sign.
BYTES = """
const float NO_NUMBER = 3.4e38;

float decoded(vec4 texel) {
    vec4 bytes = floor(texel * 255.0 + 0.5);
    float negative = step(128.0, bytes.a);
    float odd = step(128.0, bytes.b);
    float exponent = (bytes.a - 128.0 * negative) * 2.0 + odd;
    float fraction = (bytes.b - 128.0 * odd) * 65536.0 + bytes.g * 256.0 + bytes.r;
    if (exponent > 254.5 && fraction > 0.0) return NO_NUMBER;
    float size = (1.0 + fraction / 8388608.0) * exp2(min(exponent - 127.0, 126.0));
    return exponent < 0.5 ? 0.0 : size * (1.0 - 2.0 * negative);
}

float one_number(vec2 at) {
    return decoded(texture2D(u_numbers, at / u_numbers_size));
}

float of_plate(float place) {
    return decoded(texture2D(u_plates, vec2(place + 0.5, v_plate + 0.5) / u_plates_size));
}

vec4 four_numbers(float part) {
    float first = 4.0 * part;
    vec2 upper = vec2(of_plate(first), of_plate(first + 1.0));
    return vec4(upper, of_plate(first + 2.0), of_plate(first + 3.0));
}

bool is_number(float value) {
    return value < 0.99 * NO_NUMBER;
}
"""


def packed(data: FloatArray, floats: bool) -> Any:
    """Floats as a texture takes them, in one axis more; nothing is copied."""
    rows = len(data)
    if floats:
        return data.reshape(rows, data.shape[1], -1)
    return data.astype("<f4", copy=False).view(np.uint8).reshape(rows, -1, 4)


def texture_of(data: Any) -> Any:
    """A texture that gives back each float, or each byte / 255, as it is."""
    kind = {1: "r32f", 4: "rgba32f"}[data.shape[2]] if data.dtype == np.float32 else None
    return gloo.Texture2D(
        data, interpolation="nearest", wrapping="clamp_to_edge", internalformat=kind
    )


PROBE = """
uniform sampler2D u_one;
uniform sampler2D u_four;
uniform vec4 u_sent;

void main() {
    vec4 arrived = vec4(texture2D(u_one, vec2(0.5)).r, texture2D(u_four, vec2(0.5)).gba);
    gl_FragColor = vec4(arrived == u_sent ? 1.0 : 0.0);
}
"""
SENT = np.array([3.25, -1234.5677, 4.1e8, 1.25e-20], np.float32)  # no smaller float holds them
KNOWN: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def has_float_textures() -> bool:
    """Whether textures hold floats in the current OpenGL context: one is drawn and looked at, once.

    The state of OpenGL is to be set anew after it, but for the viewport.
    """
    canvas = gloo.get_current_canvas()
    if canvas is None:
        return True
    if canvas.context not in KNOWN:
        canvas.context.flush_commands()  # so that the viewport is what it was said to be
        KNOWN[canvas.context] = arrive(SENT)
    return KNOWN[canvas.context]


def arrive(sent: FloatArray) -> bool:
    """Whether four floats come through textures of one and of four unharmed."""
    corners = "attribute vec2 a_at; void main() { gl_Position = vec4(a_at, 0.0, 1.0); }"
    program = gloo.Program(corners, PROBE)
    program["a_at"] = np.array([(-1, -1), (3, -1), (-1, 3)], np.float32)
    program["u_sent"] = sent
    viewport = gl.glGetParameter(gl.GL_VIEWPORT)
    try:
        program["u_one"] = texture_of(sent[np.newaxis, :1, np.newaxis])
        program["u_four"] = texture_of(sent[np.newaxis, np.newaxis])
        with gloo.FrameBuffer(gloo.RenderBuffer((1, 1), "color")):
            gloo.set_state(depth_test=False, blend=False, cull_face=False)
            gloo.set_viewport(0, 0, 1, 1)
            program.draw("triangles")
            return bool(gloo.read_pixels((0, 0, 1, 1))[0, 0, 0] > 127)
    except RuntimeError:  # vispy's word for an error of OpenGL
        return False
    finally:
        gloo.set_viewport(*viewport)
