#version 120
// See ground.vert.

varying vec2 v_at;
varying vec3 v_right;
varying vec3 v_up;
varying vec3 v_near;
varying float v_soft;
varying vec4 v_color;

// How far a place is outside a pair of sides of the outline, below 0 between them.
float beyond(vec3 side) {
    return abs(dot(side.xy, v_at)) - side.z;
}

void main() {
    float front = beyond(v_right);
    float outside = max(max(beyond(v_near), beyond(v_up)), front);
    float alpha = v_color.a * smoothstep(v_soft, -v_soft, outside);
    // The front edge of a tray, which is below, is a line.
    bool is_front = v_soft <= 0.5 && dot(v_right.xy, v_at) * v_right.y < 0.0;
    alpha *= is_front ? 1.0 + clamp(1.0 - abs(front + 0.5), 0.0, 1.0) : 1.0;
    gl_FragColor = vec4(v_color.rgb * alpha, alpha);
}
