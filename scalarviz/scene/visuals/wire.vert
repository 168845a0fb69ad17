#version 120
// A wire as a strip whose width in pixels is the same everywhere.

uniform vec2 u_viewport;      // device pixels
uniform float u_ratio;        // device pixels per logical pixel
attribute vec2 a_corner;      // start 0 or end 1; side -1 or 1
attribute vec3 a_start;
attribute vec3 a_end;
attribute vec4 a_color;
attribute float a_width;      // logical pixels
varying vec3 v_across;        // place and half the width, in pixels, and 1: all times the depth
varying vec4 v_color;         // premultiplied by alpha

// The transform of the view, defined by vispy.
vec4 to_clip(vec4 point);

void main() {
    vec4 start = to_clip(vec4(a_start, 1.0));
    vec4 end = to_clip(vec4(a_end, 1.0));
    // The part behind the near plane is cut off: it has no place in the picture.
    float first = start.z + start.w;
    float last = end.z + end.w;
    vec4 from = first < 0.0 ? mix(start, end, first / min(first - last, -1e-12)) : start;
    vec4 to = last < 0.0 ? mix(end, start, last / min(last - first, -1e-12)) : end;
    vec2 half_size = 0.5 * u_viewport;
    vec2 way = (to.xy / to.w - from.xy / from.w) * half_size;
    float far = length(way);
    vec2 normal = far > 1e-6 ? vec2(-way.y, way.x) / far : vec2(0.0, 1.0);

    // Wires thinner than a pixel are drawn one pixel wide, and fainter.
    float width = a_width * u_ratio;
    float half_width = 0.5 * max(width, 1.0);
    float reach = half_width + 1.0;
    vec4 here = a_corner.x < 0.5 ? from : to;
    gl_Position = here + vec4(a_corner.y * reach * normal / half_size * here.w, 0.0, 0.0);
    // What is beyond the far plane is not cut off: it is drawn just before the depth of nothing,
    // of which it differs in 16 bits, too.
    gl_Position.z = min(gl_Position.z, 0.9999 * gl_Position.w);
    v_across = vec3(a_corner.y * reach, half_width, 1.0) * here.w;
    float alpha = a_color.a * min(width, 1.0);
    v_color = vec4(a_color.rgb * alpha, alpha);
    if (first < 0.0 && last < 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}
