// Fills the picture; v_place is 0 to 1 from its lower left corner.

attribute vec2 a_corner;
varying vec2 v_place;

void main() {
    v_place = 0.5 * a_corner + 0.5;
    gl_Position = vec4(a_corner, 0.0, 1.0);
}
