#version 120
// A square before each ball, as large as its outline, with room for its ring and its shadow.

uniform vec2 u_viewport;      // device pixels
uniform float u_ratio;        // device pixels per logical pixel
attribute vec2 a_corner;      // -1 or 1
attribute vec3 a_center;
attribute float a_radius;
attribute vec3 a_fill;
attribute vec4 a_ring;        // color of the ring of a ball of glass, and its amount; -1: it is solid
varying vec2 v_at;            // place on the outline's disc, whose radius is 1
varying vec3 v_start;         // the same from the center in space: right, up, towards the eye
varying vec3 v_ray;           // away from the eye, on the same axes
varying vec4 v_depth;
varying vec3 v_size;          // radius, radius and from there to the ring in device pixels
varying vec3 v_fill;
varying vec4 v_ring;

// The transform of the view and its inverse, defined by vispy.
vec4 to_clip(vec4 point);
vec4 from_clip(vec4 point);

void main() {
    // The eye is the origin of all rays; without perspective it is at infinity.
    vec4 eye = from_clip(vec4(0.0, 0.0, 1.0, 0.0));
    bool near = abs(eye.w) * 1e6 > length(eye.xyz);
    vec4 middle = to_clip(vec4(a_center, 1.0));
    vec3 toward = near ? eye.xyz / eye.w - a_center : normalize(eye.xyz);
    float apart = length(toward);
    vec3 axis = toward / apart;
    vec4 nearer = to_clip(vec4(a_center + axis, 1.0));
    if (!near && nearer.z * middle.w > middle.z * nearer.w) axis = -axis;
    // With perspective less than half of a sphere is seen, on a larger disc.
    float wide = a_radius;
    if (near) wide *= apart / sqrt(max(apart * apart - a_radius * a_radius, 1e-12));
    vec3 right = from_clip(vec4(1.0, 0.0, 0.0, 0.0)).xyz;
    right = normalize(right - axis * dot(right, axis));
    vec3 up = cross(axis, right);
    if (dot(up, from_clip(vec4(0.0, 1.0, 0.0, 0.0)).xyz) < 0.0) up = -up;
    vec4 side = to_clip(vec4(a_center + wide * right, 1.0));
    float pixels = length((side.xy / side.w - middle.xy / middle.w) * 0.5 * u_viewport);

    v_at = a_corner * (1.45 + 4.0 * u_ratio / max(pixels, 1e-3));
    vec3 start = wide * (v_at.x * right + v_at.y * up);
    vec4 seen = to_clip(vec4(a_center + start, 1.0));
    vec3 ray = near ? start - toward : -axis;
    vec4 further = to_clip(vec4(a_center + start + ray, 1.0)) - seen;
    v_start = vec3(wide * v_at, 0.0);
    v_ray = vec3(dot(ray, right), dot(ray, up), dot(ray, axis));
    v_depth = vec4(seen.zw, further.zw);
    v_size = vec3(a_radius, pixels, a_ring.a < 0.0 ? 0.0 : 2.0 * u_ratio);
    v_fill = a_fill;
    v_ring = a_ring;
    gl_Position = seen;
    // Nothing is drawn of a sphere that the eye is in, or that is behind the eye.
    if (near && (apart <= 1.001 * a_radius || middle.w <= 0.0)) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}
