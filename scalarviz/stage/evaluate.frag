// Computes one sample in each pixel. Four inputs stand in a texel, further ones `u_rows` rows above.

uniform sampler2D u_inputs;
uniform vec2 u_inputs_size;
uniform float u_rows;  // of the picture
uniform float u_first;  // the first output that is written

void main() {
    float x[INPUTS];
    float y[OUTPUTS];
    float written[WRITTEN];
    for (int k = 0; k < BLOCKS; k++) {
        vec2 at = gl_FragCoord.xy + vec2(0.0, float(k) * u_rows);
        vec4 four = texture2D(u_inputs, at / u_inputs_size);
        for (int i = 0; i < 4; i++) {
            if (4 * k + i < INPUTS) x[4 * k + i] = four[i];
        }
    }
    network_row(x, y);
    for (int i = 0; i < WRITTEN; i++) written[i] = 0.0;
    for (int i = 0; i < OUTPUTS; i++) {
        int place = i - int(u_first);
        if (place >= 0 && place < WRITTEN) written[place] = y[i];
    }
    // What is written is appended, with the end of this function.
