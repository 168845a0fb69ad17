// Reads numbers from byte textures; appended to cubes.frag. A texel holds the four bytes of a float
// in memory order: the fraction, lowest byte first, then exponent and sign.

const float NO_NUMBER = 3.4e38;

float decoded(vec4 texel) {
    vec4 bytes = floor(texel * 255.0 + 0.5);
    float negative = step(128.0, bytes.a);
    float odd = step(128.0, bytes.b);
    float exponent = (bytes.a - 128.0 * negative) * 2.0 + odd;
    float fraction = (bytes.b - 128.0 * odd) * 65536.0 + bytes.g * 256.0 + bytes.r;
    if (exponent > 254.5 && fraction > 0.0) return NO_NUMBER;
    float size = (1.0 + fraction / 8388608.0) * exp2(min(exponent - 127.0, 126.0));
    return exponent < 0.5 ? 0.0 : size * (1.0 - 2.0 * negative);
}

float one_number(vec2 at) {
    return decoded(texture2D(u_numbers, at / u_numbers_size));
}

bool is_number(float value) {
    return value < 0.99 * NO_NUMBER;
}
