// The box of a plate, or of a cube of a plate of few, and the view rays through it.

attribute vec3 a_corner;
attribute vec3 a_origin;
attribute vec3 a_along;
attribute vec3 a_across;
attribute vec3 a_toward;
attribute vec4 a_size;  // cell of the cube, or -1; half the side of the largest cube, the seat of cubes
attribute vec4 a_grid;
attribute vec4 a_scales;
attribute vec4 a_looks;
attribute vec4 a_means;
attribute vec4 a_tile;
attribute vec4 a_strides;
attribute vec4 a_focus;
attribute vec4 a_bar;

// The transform of the view and its inverse, defined by vispy.
vec4 to_clip(vec4 point);
vec4 from_clip(vec4 point);

// Defined in key_light.glsl.
vec3 key_light(bool near, vec3 ray);

// A direction on the axes of the plate.
vec3 on_axes(vec3 way) {
    return vec3(dot(way, normalize(a_along)), dot(way, normalize(a_across)), dot(way, a_toward));
}

// A direction in columns, rows and height; a column is as long as a_along, a row as a_across.
vec3 on_plate(vec3 direction) {
    vec2 cells = vec2(dot(direction, a_along), dot(direction, a_across));
    vec2 lengths = vec2(dot(a_along, a_along), dot(a_across, a_across));
    return vec3(cells / lengths, dot(direction, a_toward));
}

void main() {
    v_grid = grid = a_grid;
    v_scales = scales = a_scales;
    v_tile = tile = a_tile;
    v_strides = strides = a_strides;
    v_up = vec4(on_axes(vec3(0.0, 1.0, 0.0)), a_size.z);
    v_key.w = a_size.w;
#if BARS
    v_bar = a_bar;
    v_own = a_size.xy;
#endif
    // Where cubes may be flat, the first one has the box of all.
    bool is_whole = FAR > 0 || a_size.x < 0.0;
    vec2 cell = max(a_size.xy, 0.0);
    float half_side = is_whole ? MOST * a_size.z : 1.01 * share(number(address(cell), 1.0));
    vec3 middle = middle_of(cell, half_side);
    vec3 sides = sides_of(half_side);
    vec2 reach = sides.xy / cell_size;
    v_part = is_whole ? vec4(0.0, 0.0, grid.xy) : vec4(middle.xy - reach, middle.xy + reach);
    vec2 side = mix(v_part.xy, v_part.zw, a_corner.xy);
    vec3 place = vec3(side, middle.z + (2.0 * a_corner.z - 1.0) * sides.z);
    vec3 point = a_origin + place.x * a_along + place.y * a_across + place.z * a_toward;
    vec4 seen = to_clip(vec4(point, 1.0));
    // The eye is the origin of all rays; without perspective it is at infinity.
    vec4 eye = from_clip(vec4(0.0, 0.0, 1.0, 0.0));
    bool near = abs(eye.w) * 1e6 > length(eye.xyz);
    vec3 ray = near ? point - eye.xyz / eye.w : normalize(eye.xyz);
    vec4 further = to_clip(vec4(point + ray, 1.0)) - seen;
    if (!near && further.z * seen.w < seen.z * further.w) {
        ray = -ray;
        further = -further;
    }
    v_place = place;
    v_ray = on_plate(ray);
    v_depth = vec4(seen.zw, further.zw);
    v_looks = a_looks;
    v_means = a_means;
    v_key.xyz = on_axes(key_light(near, ray));
    v_focus = a_focus;
    gl_Position = FAR > 0 && a_size.x + a_size.y > 0.0 ? vec4(2.0, 2.0, 2.0, 1.0) : seen;
}
