#version 120
// A strip with smooth edges.

varying vec3 v_across;
varying vec4 v_color;

void main() {
    // The division undoes the perspective of what was interpolated.
    vec2 pixels = v_across.xy / v_across.z;
    float covered = clamp(pixels.y + 0.5 - abs(pixels.x), 0.0, 1.0);
    if (covered * v_color.a <= 0.0) discard;
    gl_FragColor = v_color * covered;
}
