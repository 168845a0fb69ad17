#version 120
// What lies on the ground: the pool of light, trays, and the soft shadows of cubes.

uniform vec2 u_viewport;      // device pixels
uniform vec4 u_tray;
uniform vec4 u_shadow;
attribute vec2 a_corner;      // -1 or 1
attribute vec3 a_center;
attribute vec3 a_size;        // half the sides; without height a tray, below 0 the pool
varying vec2 v_at;            // place in pixels from the middle; of the pool relative to its size
varying vec4 v_first;         // normals of two pairs of sides of the outline, and
varying vec4 v_second;        // of the third pair; how soft the outline is; 1 for a tray, -1 the pool
varying vec3 v_reach;         // how far these sides are from the middle
varying vec4 v_color;

// The transform of the view, defined by vispy.
vec4 to_clip(vec4 point);

const vec2 POOL = vec2(-0.125, 0.0);    // its middle in the picture, -1 to 1
const vec2 POOL_SIZE = vec2(0.82, 0.83);

vec2 seen(vec3 point) {
    vec4 place = to_clip(vec4(point, 1.0));
    return 0.5 * u_viewport * place.xy / place.w;
}

vec2 normal_of(vec2 side) {
    return vec2(-side.y, side.x) / max(length(side), 1e-6);
}

void main() {
    vec2 middle = seen(a_center);
    vec2 right = seen(a_center + vec3(a_size.x, 0.0, 0.0)) - middle;
    vec2 up = seen(a_center + vec3(0.0, a_size.y, 0.0)) - middle;
    vec2 near = seen(a_center + vec3(0.0, 0.0, a_size.z)) - middle;
    bool is_tray = a_size.y <= 0.0;
    vec2 reach = abs(right) + abs(up) + abs(near);
    float size = 2.0 * max(reach.x, reach.y);
    float soft = is_tray ? 0.5 : 0.16 * size;
    v_first = vec4(normal_of(right), normal_of(up));
    v_second = vec4(normal_of(near), soft, is_tray ? 1.0 : 0.0);
    v_reach = vec3(abs(dot(v_first.xy, up)) + abs(dot(v_first.xy, near)),
                   abs(dot(v_first.zw, right)) + abs(dot(v_first.zw, near)),
                   abs(dot(v_second.xy, right)) + abs(dot(v_second.xy, up)));
    v_color = is_tray ? u_tray : u_shadow;
    v_at = a_corner * (reach + soft + 1.0);
    vec2 moved = is_tray ? vec2(0.0) : size * vec2(0.05, -0.1);
    gl_Position = vec4((middle + moved + v_at) / (0.5 * u_viewport), 0.0, 1.0);
    if (a_size.x < 0.0) {
        v_second.w = -1.0;
        v_at = (a_corner - POOL) / POOL_SIZE;
        gl_Position = vec4(a_corner, 0.0, 1.0);
    }
}
