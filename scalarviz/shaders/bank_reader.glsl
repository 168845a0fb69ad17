// Reads parameters from the texture of the bank that the cubes are drawn from: SPLIT in each line.

uniform sampler2D u_numbers;
uniform vec2 u_numbers_size;

float one_number(vec2 at);

float network_number(int place) {
    int line = place / SPLIT;
    return one_number(vec2(float(place - line * SPLIT) + 0.5, float(line) + 0.5));
}

vec4 network_four(int place) {
    return vec4(
        network_number(place),
        network_number(place + 1),
        network_number(place + 2),
        network_number(place + 3)
    );
}
