// Reads parameters from the texture of the bank that the cubes are drawn from: SPLIT in each line.

uniform sampler2D u_numbers;
uniform vec2 u_numbers_size;
uniform float u_numbers_first;  // the line in which the parameters begin

float one_number(vec2 at);

float network_number(int place) {
    int line = place / SPLIT;
    vec2 at = vec2(float(place - line * SPLIT), float(line) + u_numbers_first);
    return one_number(at + 0.5);
}

vec4 network_four(int place) {
    return vec4(
        network_number(place),
        network_number(place + 1),
        network_number(place + 2),
        network_number(place + 3)
    );
}
