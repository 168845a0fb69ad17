// Draws what a network answers at each point of a picture: its outputs are a color.

uniform vec2 u_low;  // the lower left corner of the picture, in the numbers of the axes
uniform vec2 u_high;
uniform float u_squash;  // 1: answers are the sigmoid of the outputs; else 0

varying vec2 v_place;

float sigmoid_of(float x) {
    return x >= 0.0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x));
}

void main() {
    vec2 place = mix(u_low, u_high, v_place);
    float x[INPUTS];
    float y[OUTPUTS];
    x[0] = place.x;
    x[1] = place.y;
    network_row(x, y);
    vec3 color = vec3(0.0);
    for (int i = 0; i < OUTPUTS; i++) {
        float shown = u_squash == 1.0 ? sigmoid_of(y[i]) : y[i];
        if (i == 0) color.x = shown;
        if (i == 1) color.y = shown;
        if (i == 2) color.z = shown;
    }
    bool known = y[0] <= 0.0 || y[0] > 0.0;
    gl_FragColor = vec4(known ? color : vec3(1.0, 0.0, 1.0), 1.0);
}
