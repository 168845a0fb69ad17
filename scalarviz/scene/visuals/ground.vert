#version 120
// What lies on the ground, trays and the soft shadows of cubes; or the ground with its pool of light.

uniform vec2 u_viewport;      // device pixels
uniform vec4 u_tray;
uniform vec4 u_shadow;
attribute vec2 a_corner;      // -1 or 1
attribute vec3 a_center;
attribute vec3 a_size;        // half the sides; without height a tray, below 0 the ground
varying vec2 v_at;            // place in pixels from the middle; of the ground relative to its pool
varying vec3 v_right;         // the ways aside from the sides, and how far the outline is there
varying vec3 v_up;
varying vec3 v_near;
varying float v_soft;         // how wide the edge of the outline is; of a tray half a pixel
varying vec4 v_color;

// The transform of the view, defined by vispy.
vec4 to_clip(vec4 point);

const vec2 POOL = vec2(-0.125, 0.0);    // its middle in the picture, -1 to 1
const vec2 POOL_SIZE = vec2(0.82, 0.83);

vec2 seen(vec3 point) {
    vec4 place = to_clip(vec4(point, 1.0));
    return 0.5 * u_viewport * place.xy / place.w;
}

// The way aside from a side, and how far there the outline of a box with two more sides is.
vec3 beside(vec2 side, vec2 other, vec2 third) {
    vec2 aside = vec2(-side.y, side.x) / max(length(side), 1e-6);
    float reach = abs(dot(aside, other)) + abs(dot(aside, third));
    return vec3(aside, side == vec2(0.0) ? 1e6 : reach);  // a tray has no height
}

void main() {
    vec2 middle = seen(a_center);
    vec2 right = seen(a_center + vec3(a_size.x, 0.0, 0.0)) - middle;
    vec2 up = seen(a_center + vec3(0.0, a_size.y, 0.0)) - middle;
    vec2 near = seen(a_center + vec3(0.0, 0.0, a_size.z)) - middle;
    v_right = beside(right, up, near);
    v_up = beside(up, near, right);
    v_near = beside(near, right, up);
    vec2 reach = abs(right) + abs(up) + abs(near);
    float size = a_size.y > 0.0 ? 2.0 * max(reach.x, reach.y) : 0.0;
    v_soft = max(0.16 * size, 0.5);
    v_color = size > 0.0 ? u_shadow : u_tray;
    v_at = a_size.x > 0.0 ? a_corner * (reach + v_soft + 1.0) : vec2(0.0);  // 0: no shadow
    gl_Position = vec4((middle + size * vec2(0.05, -0.1) + v_at) / (0.5 * u_viewport), 0.99999, 1.0);
    if (a_size.x < 0.0) {
        v_at = (a_corner - POOL) / POOL_SIZE;
        gl_Position = vec4(a_corner, 0.99999, 1.0);
    }
}
