// Reads numbers from float textures; appended to cubes.frag. A texel holds one number of `numbers`,
// or four of `plates`.

float one_number(vec2 at) {
    return texture2D(u_numbers, at / u_numbers_size).r;
}

vec4 four_numbers(float part) {
    return texture2D(u_plates, vec2(part + 0.5, v_plate + 0.5) / u_plates_size);
}

bool is_number(float value) {
    return value <= 0.0 || value > 0.0;
}
