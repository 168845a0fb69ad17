"""Draws a `Canvas2D` with OpenGL: one program for all flat shapes, by distance from the edge."""

from __future__ import annotations

from typing import Any

import numpy as np
from vispy import gloo

from scalarviz.draw2d.batch import VERTEX
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.fonts import ATLAS

VERTEX_SHADER = """
#version 120
uniform vec2 u_size;          // of the canvas, in logical pixels
uniform float u_ratio;        // device pixels in a logical one

attribute vec4 a_place;
attribute vec4 a_axis;
attribute vec4 a_extra;
attribute vec4 a_style;
attribute vec4 a_clip;
attribute vec4 a_color;

varying vec4 v_place;         // on the shape's own axes; half its width and height
varying vec2 v_at;            // on the canvas
varying vec4 v_extra;
varying vec4 v_style;
varying vec4 v_clip;
varying vec4 v_fill;          // times its alpha, as is the outline
varying vec4 v_outline;

vec4 unpacked(vec2 two)
{
    vec2 high = floor(two / 256.0);
    vec4 color = vec4(high.x, two.x - 256.0 * high.x, high.y, two.y - 256.0 * high.y) / 255.0;
    return vec4(color.rgb * color.a, color.a);
}

void main()
{
    float kind = floor(a_style.z / 4.0);
    float corner = a_style.z - 4.0 * kind;
    vec2 side = vec2(mod(corner, 2.0), floor(corner / 2.0));
    float pixel = 1.0 / u_ratio;

    // What is finer than a pixel is drawn a pixel wide, and fainter.
    vec2 size = max(a_place.zw, 0.5 * pixel);
    vec2 cover = min(a_place.zw / (0.5 * pixel), 1.0);
    float faint = kind == 0.0 ? cover.x * cover.y : cover.y;
    float radius = kind == 4.0 ? 0.0 : min(a_style.x, min(size.x, size.y));
    if (kind == 1.0) {
        size.x = a_place.z - a_place.w + size.y;
        radius = size.y;
    }

    vec2 reach = kind == 3.0 ? size : size + pixel;  // letters have no edge to smooth
    vec2 own = (2.0 * side - 1.0) * reach;
    vec2 down = kind == 4.0 ? a_style.xy : vec2(-a_axis.y, a_axis.x);
    v_at = a_place.xy + own.x * a_axis.xy + own.y * down;
    v_place = vec4(own, size);
    v_extra = a_extra;
    if (kind == 3.0) {
        v_extra.xy = mix(a_extra.xy, a_extra.zw, side);
    }
    v_style = vec4(radius, a_style.y, kind, a_style.w);
    v_clip = a_clip;
    v_fill = unpacked(a_color.xy) * faint;
    v_outline = unpacked(a_color.zw) * faint;

    float along = 0.5 + 0.5 * own.x / max(size.x - radius, 0.001);
    float depth = clamp(mix(a_axis.z, a_axis.w, along), -1.0, 1.0);
    gl_Position = vec4(2.0 * v_at.x / u_size.x - 1.0, 1.0 - 2.0 * v_at.y / u_size.y, depth, 1.0);
}
"""

FRAGMENT_SHADER = """
#version 120
uniform float u_ratio;
uniform vec2 u_atlas_size;
uniform sampler2D u_atlas;
uniform sampler2D u_image;

varying vec4 v_place;
varying vec2 v_at;
varying vec4 v_extra;
varying vec4 v_style;
varying vec4 v_clip;
varying vec4 v_fill;
varying vec4 v_outline;

const float STRIPE = 5.0;     // logical pixels from one stripe to the next

// Distances from the edge, in logical pixels, negative inside.
float to_box(vec2 at, vec2 size, float radius)
{
    vec2 beyond = abs(at) - size + radius;
    return min(max(beyond.x, beyond.y), 0.0) + length(max(beyond, 0.0)) - radius;
}

float to_arrow(vec2 at, vec2 size, float head, float shaft)
{
    vec2 slope = normalize(vec2(size.y, head));
    float neck = size.x - head;
    float to_head = max(neck - at.x, dot(vec2(at.x - size.x, abs(at.y)), slope));
    float to_shaft = max(max(-size.x - at.x, at.x - neck - 0.5 * head), abs(at.y) - shaft);
    return min(to_head, to_shaft);
}

float covered(float edge)
{
    return clamp(0.5 - edge * u_ratio, 0.0, 1.0);
}

void main()
{
    if (any(lessThan(v_at, v_clip.xy)) || any(greaterThanEqual(v_at, v_clip.zw))) {
        discard;
    }
    vec2 at = v_place.xy;
    vec2 size = v_place.zw;
    float kind = v_style.z;
    if (kind > 2.5 && kind < 3.5) {
        gl_FragColor = v_fill * texture2D(u_atlas, v_extra.xy / u_atlas_size).r;
        return;
    }
    if (kind > 3.5) {
        vec2 spot = mix(v_extra.xy, v_extra.zw, clamp(0.5 + 0.5 * at / size, 0.0005, 0.9995));
        gl_FragColor = texture2D(u_image, spot) * covered(to_box(at, size, 0.0));
        return;
    }
    if (kind > 1.5) {
        gl_FragColor = v_fill * covered(to_arrow(at, size, v_extra.x, v_extra.y));
        return;
    }
    if (kind > 0.5) {
        // A hair off the middle of the join, so that no pixel lies on the cut and is lost.
        float hair = 0.01 / u_ratio;
        float straight = size.x - size.y;
        bool early = dot(at + vec2(straight, 0.0), v_extra.xy) < hair * length(v_extra.xy);
        bool late = dot(at - vec2(straight, 0.0), v_extra.zw) > hair * length(v_extra.zw);
        if ((early && dot(v_extra.xy, v_extra.xy) > 0.0) || late) {
            discard;
        }
    }
    float edge = to_box(at, size, v_style.x);
    float outer = covered(edge);
    float inner = covered(edge + v_style.y);
    vec4 fill = v_fill;
    if (v_style.w > 0.0) {
        float stripe = abs(fract((at.x + at.y) / (1.41421356 * STRIPE)) - 0.5) * STRIPE;
        float light = dot(fill.rgb, vec3(0.3, 0.6, 0.1)) > 0.5 * fill.a ? 0.0 : fill.a;
        float amount = v_style.w * clamp((stripe - 0.25 * STRIPE) * u_ratio + 0.5, 0.0, 1.0);
        fill.rgb = mix(fill.rgb, vec3(light), amount);
    }
    gl_FragColor = fill * inner + v_outline * (outer - inner);
}
"""


class Renderer:
    """What draws canvases in one OpenGL context."""

    def __init__(self) -> None:
        self._program = gloo.Program(VERTEX_SHADER, FRAGMENT_SHADER)
        self._vertices = gloo.VertexBuffer(np.zeros(4, VERTEX))
        self._program.bind(self._vertices)
        self._atlas = gloo.Texture2D(ATLAS.pixels, format="luminance", interpolation="nearest")
        self._version = ATLAS.version
        self._program["u_atlas"] = self._atlas
        # One of each for every batch.
        self._indices: list[Any] = []
        self._images: list[Any] = []

    def draw(self, canvas: Canvas2D, width_px: int, height_px: int) -> None:
        """Draw on the current framebuffer, whose size in device pixels this is."""
        vertices, indices, batches = canvas.vertices()
        if not batches:
            return
        self._vertices.set_data(vertices)
        self._program["u_size"] = (width_px / canvas.ratio, height_px / canvas.ratio)
        self._program["u_ratio"] = canvas.ratio
        self._update_atlas()
        gloo.set_state(
            blend=True,
            blend_func=("one", "one_minus_src_alpha"),
            depth_test=True,
            depth_func="lequal",
            cull_face=False,
        )
        gloo.set_depth_mask(False)
        for number, batch in enumerate(batches):
            if number == len(self._indices):
                self._indices.append(gloo.IndexBuffer())
                self._images.append(blank_image())
            if batch.image is not None:
                self._images[number].set_data(batch.image.pixels)
                smooth = "linear" if batch.image.smooth else "nearest"
                self._images[number].interpolation = smooth
            self._program["u_image"] = self._images[number]
            self._indices[number].set_data(indices[6 * batch.start : 6 * batch.stop])
            self._program.draw("triangles", self._indices[number])
        gloo.set_depth_mask(True)
        gloo.set_state(blend=False)

    def _update_atlas(self) -> None:
        if self._version != ATLAS.version:
            self._atlas.set_data(ATLAS.pixels)
            self._version = ATLAS.version
        height, width = ATLAS.pixels.shape
        self._program["u_atlas_size"] = (width, height)


def blank_image() -> Any:
    """A texture that takes images of any size."""
    nothing = np.zeros((1, 1, 4), np.uint8)
    return gloo.Texture2D(nothing, format="rgba", wrapping="clamp_to_edge")
