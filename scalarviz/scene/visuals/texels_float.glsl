// Reads numbers from float textures; appended to cubes.frag. A texel holds one number.

float one_number(vec2 at) {
    return texture2D(u_numbers, at / u_numbers_size).r;
}

bool is_number(float value) {
    return value <= 0.0 || value > 0.0;
}
