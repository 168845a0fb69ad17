#version 120
attribute vec2 a_at;

void main() {
    gl_Position = vec4(a_at, 0.0, 1.0);
}
