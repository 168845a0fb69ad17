#version 120
attribute vec2 a_corner;
varying vec2 v_at;
void main() {
    v_at = 0.5 + 0.5 * a_corner;
    gl_Position = vec4(a_corner, 0.0, 1.0);
}
