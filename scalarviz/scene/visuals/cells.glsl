// The cells of a plate and the cubes in them; prepended to box.vert and cubes.frag, which set these.

uniform sampler2D u_numbers;
uniform vec2 u_numbers_size;
varying vec3 v_place;
varying vec3 v_ray;
varying vec4 v_depth;
varying vec4 v_grid, v_scales, v_looks, v_means, v_tile, v_strides, v_focus;
varying vec4 v_up;   // the way up on the axes of the plate; last the half of a_size
varying vec4 v_key;  // the way to the light on them; last the seat, or -1: of one size
varying vec4 v_part;  // the columns and rows of the box: first place, last place
#if BARS
varying vec4 v_bar;  // half the width and half the depth of bars; the way up in columns and rows
varying vec2 v_own;  // the cell of the box of a single bar, or -1
#endif
vec4 grid, scales, tile, strides;
#define cell_size strides.zw

bool is_number(float value) {
    return value <= 0.0 || value > 0.0;
}

// The tile of a cell.
vec2 tile_of(vec2 cell) {
    return floor((cell + 0.5) / tile.zw);
}

// Whether a cell holds a cube: gaps between tiles hold none.
bool has_cube(vec2 cell) {
    return all(lessThan(cell - tile_of(cell) * tile.zw, tile.xy));
}

// The address of a cell; no product exceeds what a float counts exactly.
vec2 address(vec2 cell) {
    vec2 on = tile_of(cell);
    cell -= on * tile.zw;
    float before = dot(on, strides.xy);
    float skipped = floor(before / SPLIT);
    float upper = floor(cell.y / SPLIT);
    float product = (cell.y - upper * SPLIT) * scales.y;
    float over = floor(product / SPLIT);
    float beyond = floor(cell.x / SPLIT);
    float low = grid.w + product - over * SPLIT + cell.x - beyond * SPLIT;
    low += before - skipped * SPLIT;
    float carry = floor(low / SPLIT);
    float high = grid.z + cell.y * scales.x + upper * scales.y + over + beyond + carry + skipped;
    return vec2(high, low - carry * SPLIT);
}

// A number of the upper half of the texture (0, colors) or of the lower half (1, sizes).
float number(vec2 where, float half_of) {
    vec2 at = vec2(where.y + 0.5, where.x + 0.5 + half_of * 0.5 * u_numbers_size.y);
    return texture2D(u_numbers, at / u_numbers_size).r;
}

// Half the side of a cube, or half the height of a bar, negative if it hangs; NaN is drawn largest,
// so that it is noticed.
float share(float size) {
#if BARS
    if (v_bar.x > 0.0) {
        float high = clamp(abs(size) * scales.w * v_up.w, THINNEST, MOST * v_up.w);
        return is_number(size) ? (size < 0.0 ? -high : high) : v_up.w;
    }
#endif
    float part = pow(abs(size) * scales.w, 0.3333333);
    float least = v_key.w < -1.5 ? MOST : v_key.w < 0.0 ? 1.0 : v_key.w > 0.0 ? LEAST : LEAST_ON_WALL;
    return v_up.w * (is_number(size) ? clamp(part, least, MOST) : 1.0);
}

// Half the sides of a cube or bar, in space.
vec3 sides_of(float half_side) {
#if BARS
    if (v_bar.x > 0.0) {
        vec2 up = abs(v_bar.zw);
        return vec3(mix(vec2(v_bar.x), vec2(abs(half_side)), up), v_bar.y);
    }
#endif
    return vec3(half_side);
}

// The middle of a cube on the plate; see `seat` of Plate.
vec3 middle_of(vec2 cell, float half_side) {
#if BARS
    if (v_bar.x > 0.0) return vec3(cell + 0.5 + v_bar.zw * half_side / cell_size, -v_bar.y);
#endif
    float low = SEATED > 0 && v_key.w > 0.0 ? v_key.w - half_side : 0.0;
    return vec3(cell + 0.5 + vec2(0.0, low / cell_size.y), low);
}
