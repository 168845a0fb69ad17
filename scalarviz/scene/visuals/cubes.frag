// Draws the cubes of a plate by walking the view ray of each pixel; see shaders.py.
// Names in capitals are constants of shaders.py, prepended to this text as #define. FAR is 0 if no cube
// is so small that it is drawn flat, SEATED if none has a seat: software rendering computes both
// sides of an `if`.

uniform sampler2D u_means;
uniform sampler2D u_colors;
uniform vec2 u_means_size;
uniform vec3 u_ground;
uniform float u_ids;

vec4 looks, means;

// The color of a number, less bright out of focus.
vec3 color_of(float value, vec2 cell) {
    bool is_in_focus = all(lessThan(abs(cell - 0.5 * (v_focus.xy + v_focus.zw)),
                                    0.5 * (v_focus.zw - v_focus.xy) + 0.5));
    vec2 place = vec2(clamp(value, -1.0, 1.0) * COLOR_SPAN + 0.5, 0.5);
    return mix(u_ground, texture2D(u_colors, place).rgb, is_in_focus ? looks.x : looks.w);
}

// Brightness of what looks this way, see key_light.glsl: a front has the color of its number.
float light_on(vec3 normal) {
    return 0.411 + 0.988 * max(dot(v_key.xyz, normal), 0.0);
}

#if SEATED
// Whether a cube is solid: one near 0 is of dark glass with edges, and has no shadow.
bool is_solid(float half_side) {
    return half_side > HOLLOW * v_up.w || v_key.w <= 0.0;
}

// How far the ray of a pixel passes a cube, in space: less than 0 through it.
float passed(vec3 offset, vec3 halves, vec3 inverse) {
    vec3 a = (offset - halves) * inverse;
    vec3 b = (offset + halves) * inverse;
    vec3 ins = min(a, b);
    vec3 outs = max(a, b);
    vec3 slopes = abs(inverse) / vec3(cell_size, 1.0);
    vec3 past = max((ins - outs.yzx) / (slopes + slopes.yzx), (ins - outs.zxy) / (slopes + slopes.zxy));
    return max(max(past.x, past.y), past.z);
}

// What the shadow of the cube before this one leaves of the light, on plates with a seat.
float lit_beside(vec2 cell, float toward, vec3 inverse) {
    vec2 nearer = cell + vec2(toward, 0.0);
    bool there = v_key.w > 0.0 && nearer.x > -0.5 && nearer.x < grid.x - 0.5 && has_cube(nearer);
    nearer.x = clamp(nearer.x, 0.0, grid.x - 1.0);
    float half_side = share(number(address(nearer), 1.0));
    vec3 low = -0.2 * half_side * v_up.xyz;
    vec3 cells = vec3(cell_size, 1.0);
    float beside = passed(middle_of(nearer, half_side) + low / cells - v_place, half_side / cells,
                          inverse);
    float soft = 0.3 * half_side;
    return there && is_solid(half_side) ? 0.25 + 0.75 * smoothstep(-soft, soft, beside) : 1.0;
}
#endif

// One mip level at a place: mean color times coverage, and coverage.
vec4 mean_at(vec2 place, float level) {
    float side = exp2(level);
    vec2 room = max(means.zw / exp2(level - 1.0), vec2(1.0));
    vec2 corner = means.xy + vec2(means.z * (2.0 - exp2(2.0 - level)), 0.0);
    vec2 at = clamp(place / side, vec2(0.5), room - 0.5);
    vec4 mean = texture2D(u_means, (corner + at) / u_means_size);
    return vec4(mean.rgb * mean.a, mean.a);
}

#if FAR
// The cubes under a pixel where they are about as large as pixels: color times coverage, and
// coverage. `count` is their number, or 0: software rendering computes both sides of an `if`, but a
// loop that ends at once costs nothing.
vec4 cubes_at(vec2 place, vec2 box, float upright, float count) {
    vec4 sum = vec4(0.0);
    vec2 first = floor(place - 0.5);
    for (int i = 0; i < STEPS; i++) {
        if (float(i) >= count) break;
        vec2 cell = first + vec2(mod(float(i), 2.0), floor(float(i) / 2.0));
        vec2 where = address(clamp(cell, vec2(0.0), grid.xy - 1.0));
        float half_side = share(number(where, 1.0));
        vec2 side = 2.0 * half_side / cell_size;
        vec2 stands = middle_of(cell, half_side).xy;
        // Seen obliquely, cubes cover more of the plate.
        float cover = side.x * side.y;
        side *= sqrt((1.0 - pow(1.0 - cover, 1.0 / upright)) / cover);
        vec2 low = max(place - 0.5 * box, stands - 0.5 * side);
        vec2 high = min(place + 0.5 * box, stands + 0.5 * side);
        vec2 part = max(high - low, vec2(0.0)) / box;
        bool there = all(greaterThan(cell, vec2(-0.5))) && all(lessThan(cell, grid.xy - 0.5)) &&
                     has_cube(cell);
        float value = number(where, 0.0);
        vec3 color = is_number(value) ? color_of(value * scales.z, cell) : vec3(1.0, 0.0, 1.0);
        sum += there ? part.x * part.y * vec4(color, 1.0) : vec4(0.0);
    }
    return sum;
}

// The same where cubes are smaller: the mean of `count` samples along the longer side of a pixel.
vec4 means_at(vec2 place, vec2 longer, float smaller, float larger, float upright,
              float count) {
    float level = clamp(log2(max(smaller, 0.25 * larger)) + 0.5, 1.0, looks.z);
    float whole = max(min(floor(level), looks.z - 1.0), 1.0);
    vec4 sum = vec4(0.0);
    for (int i = 0; i < STEPS; i++) {
        if (float(i) >= count) break;
        vec2 at = clamp(place + longer * ((float(i) + 0.5) / count - 0.5), vec2(0.0), grid.xy);
        sum += mix(mean_at(at, whole), mean_at(at, min(whole + 1.0, looks.z)),
                   clamp(level - whole, 0.0, 1.0)) / count;
    }
    float covered = 1.0 - pow(max(1.0 - sum.a, 0.0), 1.0 / upright);
    return vec4(mix(u_ground, sum.rgb / max(sum.a, 1e-4), looks.w) * covered, covered);
}
#endif

void main() {
    // Interpolation may change the last bits of what is the same on all corners.
    grid = floor(v_grid + 0.5);
    scales = vec4(floor(v_scales.xy + 0.5), v_scales.zw);
    looks = vec4(v_looks.xy, floor(v_looks.z + 0.5), v_looks.w);
    means = floor(v_means + 0.5);
    tile = floor(v_tile + 0.5);
    strides = vec4(floor(v_strides.xy + 0.5), v_strides.zw);
    vec3 ray = v_ray;
    vec3 ray_safe = mix(ray, vec3(1e-7), vec3(lessThan(abs(ray), vec3(1e-7))));
    vec3 inverse = 1.0 / ray_safe;
    // With perspective, the eye is at -1 on the ray; nothing behind it is visible.
    float nearest = abs(v_depth.w) > 1e-6 ? -0.9999 : -1e9;

    // Cells that a pixel covers in the middle plane, along both axes of the screen.
    vec3 middle = v_place - ray_safe * (v_place.z * inverse.z);
    vec2 by_x = dFdx(middle.xy);
    vec2 by_y = dFdy(middle.xy);
    float size_x = length(by_x);
    float size_y = length(by_y);
    float larger = max(size_x, size_y);
    float smaller = min(size_x, size_y);
    // The size of a pixel across the ray, in space.
    vec3 cells = vec3(cell_size, 1.0);
    vec3 sight = normalize(ray_safe * cells);
    vec3 on_right = dFdx(v_place) * cells;
    vec3 on_down = dFdy(v_place) * cells;
    float wide_pixel = max(length(on_right - sight * dot(on_right, sight)),
                           length(on_down - sight * dot(on_down, sight)));
#if FAR
    // The size of a pixel across the ray, in cells: seen along the plate its cubes keep their size.
    vec3 way = normalize(ray_safe);
    vec3 right = dFdx(v_place);
    vec3 down = dFdy(v_place);
    float fine = max(length(right - way * dot(right, way)), length(down - way * dot(down, way)));
    float flat_size = larger < OBLIQUE * fine ? larger : OBLIQUE * fine;
    float far = u_ids < 0.5 ? smoothstep(FLAT_FROM, FLAT_TO, flat_size) : 0.0;
#else
    const float far = 0.0;
#endif

    // Where the ray enters and leaves the box; v_place is on its far side.
    float deep = sides_of(MOST * v_up.w).z;
    float lowest = middle_of(vec2(0.0), MOST * v_up.w).z - deep;
    vec3 low = (vec3(v_part.xy, lowest) - v_place) * inverse;
    vec3 high = (vec3(v_part.zw, lowest + 2.0 * deep) - v_place) * inverse;
    vec3 entries = min(low, high);
    vec3 exits = max(low, high);
    float enter = max(max(entries.x, entries.y), max(entries.z, nearest));
    float leave = min(min(exits.x, exits.y), exits.z);
    float depth_at = leave;
    bool is_through = ray.z < 0.0 && exits.z <= leave + 1e-4;
    vec3 result = vec3(0.0);
    bool met = false;
    vec2 cell = vec2(0.0);
    vec2 where = vec2(0.0);
    vec3 ins = vec3(0.0);
    float half_side = 1.0;

    if (far < 1.0) {
        vec2 start = clamp((v_place + ray * enter).xy, v_part.xy, v_part.zw - 1e-3);
        cell = floor(start);
#if BARS
        bool is_single = v_own.x > -0.5;
        cell = is_single ? floor(v_own + 0.5) : cell;
#endif
        vec2 forward = vec2(greaterThan(ray_safe.xy, vec2(0.0)));
        vec2 next = (cell + forward - v_place.xy) * inverse.xy;
        vec2 apart = abs(inverse.xy);
        vec2 going = forward * 2.0 - 1.0;
        for (int i = 0; i < STEPS; i++) {
            where = address(cell);
            half_side = share(number(where, 1.0));
            vec3 halves = sides_of(half_side) / cells;
            vec3 offset = middle_of(cell, half_side) - v_place;
            vec3 a = (offset - halves) * inverse;
            vec3 b = (offset + halves) * inverse;
            ins = min(a, b);
            vec3 outs = max(a, b);
            float first = max(max(ins.x, ins.y), ins.z);
            if (first <= min(min(outs.x, outs.y), outs.z) && first >= enter - 1e-4 && has_cube(cell)) {
                met = true;
                depth_at = first;
                break;
            }
#if BARS
            if (is_single) break;
#endif
            if (min(next.x, next.y) >= leave) break;
            vec2 choice = next.x < next.y ? vec2(1.0, 0.0) : vec2(0.0, 1.0);
            cell += choice * going;
            next += choice * apart;
            if (cell.x < 0.0 || cell.y < 0.0 || cell.x >= grid.x || cell.y >= grid.y) break;
        }
        if (met && u_ids > 0.5) {
            float index = where.x * SPLIT + where.y;
            float blue = floor(index / 65536.0);
            float green = floor((index - blue * 65536.0) / 256.0);
            result = vec3(index - blue * 65536.0 - green * 256.0, green, blue) / 255.0;
        } else if (met) {
            vec3 normal = -sign(ray_safe) * vec3(equal(ins, vec3(depth_at)));
            vec3 sides = sides_of(half_side);
            vec3 on_cube = (v_place + ray * depth_at - middle_of(cell, half_side)) * cells / sides;
            // Below 12 pixels a cube has neither bevel nor shine.
            float pixels = min(sides.x, min(sides.y, sides.z)) / wide_pixel;
            float large = clamp(pixels - 5.0, 0.0, 1.0);
            vec3 bevel = clamp((abs(on_cube) - 0.84) / 0.16, 0.0, large) * (1.0 - abs(normal));
            vec3 turned = normalize(normal + 0.9 * sign(on_cube) * bevel * bevel);
            float bright = light_on(turned) * (1.0 + 0.1 * large * dot(v_up.xyz, on_cube));
            float gleam = max(dot(turned, normalize(v_key.xyz - sight)), 0.0);
            gleam *= gleam * gleam;
            gleam *= gleam * gleam;
            float shine = 0.27 * gleam * gleam * gleam * max(bevel.x, max(bevel.y, bevel.z));
            float value = number(where, 0.0);
            vec3 color = is_number(value) ? color_of(value * scales.z, cell) : vec3(1.0, 0.0, 1.0);
            result = color * bright + shine;
#if SEATED
            if (!is_solid(half_side)) {
                vec3 out_of = abs(on_cube);
                float second = max(min(out_of.x, out_of.y), min(max(out_of.x, out_of.y), out_of.z));
                float edge = smoothstep(1.0 - max(LINE / pixels, 0.2), 1.0, second);
                result = mix(mix(u_ground, color, 0.6) * bright, 1.0 - u_ground, 0.4 * edge);
            }
            result *= lit_beside(cell, -sign(ray_safe.x), inverse);
#endif
            result = min(result, vec3(1.0));
        } else {
            // Between near cubes one sees through, between distant ones the ground is drawn.
            if (far <= 0.0) discard;
            result = u_ground;
        }
    }
#if FAR
    vec2 box = abs(by_x) + abs(by_y);
    if (!is_through && (any(lessThan(middle.xy, -0.5 * box)) ||
                     any(greaterThan(middle.xy, grid.xy + 0.5 * box)))) {
        // Beside the plate only the sides of cubes are visible.
        if (far > 0.0 && !met) discard;
        far = 0.0;
    }
    vec2 place = clamp(middle.xy, vec2(0.0), grid.xy);
    box = clamp(box, vec2(0.05), vec2(1.0));
    vec2 longer = size_x > size_y ? by_x : by_y;
    float upright = max(abs(ray.z) / length(ray), 0.05);
    float mean = looks.z > 0.5 ? smoothstep(MEANS_FROM, CUBES_TO, larger) : 0.0;
    float places = clamp(ceil(larger / max(smaller, 1e-6) - 0.2), 1.0, 4.0);
    vec4 seen = mix(cubes_at(place, box, upright, far > 0.0 && mean < 1.0 ? 4.0 : 0.0),
                    means_at(place, longer, smaller, larger, upright, mean > 0.0 ? places : 0.0),
                    mean);
    if (far > 0.0) {
        float bright = light_on(vec3(0.0, 0.0, -sign(ray.z)));
        vec3 color = seen.rgb * bright * mix(0.75, 1.0, upright) + (1.0 - seen.a) * u_ground;
        result = mix(result, color, far);
        if (!met) depth_at = enter;
    }
#endif
    vec2 clip = v_depth.xy + depth_at * v_depth.zw;
    gl_FragDepth = clamp(0.5 * clip.x / clip.y + 0.5, 0.0, 1.0);
    gl_FragColor = vec4(result, 1.0);
}
