#version 120
// Draws white if the floats in the textures equal those sent as a uniform.

uniform sampler2D u_one;
uniform sampler2D u_four;
uniform vec4 u_sent;

void main() {
    vec4 arrived = vec4(texture2D(u_one, vec2(0.5)).r, texture2D(u_four, vec2(0.5)).gba);
    gl_FragColor = vec4(arrived == u_sent ? 1.0 : 0.0);
}
