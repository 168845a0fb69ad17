// Draws what a network answers at each point of a plane.

#define CLASSES 8  // most colors of classes
#define CODE_COLORS 0.0
#define CODE_ANSWERS 1.0

uniform vec2 u_low;  // the lower left corner of the picture, in the numbers of the axes
uniform vec2 u_high;
uniform float u_kind;  // CODE_COLORS: three outputs are a color; CODE_ANSWERS: one; else classes
uniform float u_squash;  // 1: answers are the sigmoid of the outputs; 2: their softmax; else 0
uniform vec2 u_neuron;  // a buffer and a place in it that are shown; the buffer -1: the outputs
uniform vec2 u_range;  // the middle of answers, and their distance from it at full color
uniform vec2 u_strength;  // power of the strength of a color, and share of the color on the ground
uniform float u_line;  // width of the line where the answer changes, in pixels; 0: none
uniform vec3 u_zero;
uniform vec3 u_negative;
uniform vec3 u_positive;
uniform vec3 u_ground;
uniform vec3 u_ink;
uniform vec3 u_classes[CLASSES];
uniform float u_class_count;

varying vec2 v_place;

bool is_known(float value) {
    return value <= 0.0 || value > 0.0;
}

float sigmoid_of(float x) {
    return x >= 0.0 ? 1.0 / (1.0 + exp(-x)) : exp(x) / (1.0 + exp(x));
}

vec3 color_of_class(int number) {
    int place = number - number / int(u_class_count) * int(u_class_count);
    vec3 found = vec3(0.0);
    for (int i = 0; i < CLASSES; i++) if (i == place) found = u_classes[i];
    return found;
}

vec3 color_of_answer(float answer) {
    float part = clamp((answer - u_range.x) / u_range.y, -1.0, 1.0);
    return mix(u_zero, part < 0.0 ? u_negative : u_positive, pow(abs(part), u_strength.x));
}

void main() {
    float x[INPUTS];
    float y[OUTPUTS];
    inputs_at(mix(u_low, u_high, v_place), x);
    if (u_neuron.x >= 0.0) y[0] = network_neuron(x, int(u_neuron.x), int(u_neuron.y));
    else network_row(x, y);

    float answer = y[0];
    vec3 color = vec3(0.0);
    float over = 1.0;  // changes its sign where the answer changes
    bool known = is_known(answer);
    if (u_kind == CODE_COLORS) {
        vec3 outputs = vec3(0.0);
        for (int i = 0; i < OUTPUTS; i++) {
            float shown = u_squash == 1.0 ? sigmoid_of(y[i]) : y[i];
            if (i == 0) outputs.x = shown;
            if (i == 1) outputs.y = shown;
            if (i == 2) outputs.z = shown;
        }
        color = outputs;
    } else if (u_kind == CODE_ANSWERS) {
        if (u_squash == 1.0) answer = sigmoid_of(answer);
        if (u_squash == 2.0) {
            float sum = 0.0;
            for (int i = 0; i < OUTPUTS; i++) sum += exp(y[i] - y[0]);
            answer = 1.0 / sum;
        }
        color = color_of_answer(answer);
        over = answer - u_range.x;
    } else {
        int best = 0;
        float top = y[0];
        for (int i = 1; i < OUTPUTS; i++) {
            known = known && is_known(y[i]);
            if (y[i] > top) {
                best = i;
                top = y[i];
            }
        }
        int second = -1;
        float next = -3.4e38;
        for (int i = 0; i < OUTPUTS; i++) {
            if (i != best && y[i] > next) {
                second = i;
                next = y[i];
            }
        }
        color = color_of_class(best);
        over = best < second ? top - next : next - top;  // smooth where both change places
    }
    if (!known) color = vec3(1.0, 0.0, 1.0);
    color = mix(u_ground, color, u_strength.y);
    vec2 slope = vec2(dFdx(over), dFdy(over));
    float away = abs(over) / max(length(slope), 1e-30);
    if (u_line > 0.0 && known) color = mix(u_ink, color, clamp(away - 0.5 * u_line + 0.5, 0.0, 1.0));
    gl_FragColor = vec4(color, 1.0);
}
