#version 120
// Draws how a picture differs from its target: grey where they agree.

uniform sampler2D u_output;
uniform sampler2D u_target;  // the first row is on top
varying vec2 v_place;

void main() {
    vec3 apart = texture2D(u_output, v_place).rgb
        - texture2D(u_target, vec2(v_place.x, 1.0 - v_place.y)).rgb;
    gl_FragColor = vec4(0.5 + 5.0 * apart, 1.0);
}
