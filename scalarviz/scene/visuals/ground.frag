#version 120
// See ground.vert.

varying vec2 v_at;
varying vec2 v_right;
varying vec2 v_up;
varying vec2 v_near;
varying float v_soft;
varying vec4 v_color;

float cross2(vec2 a, vec2 b) {
    return a.x * b.y - a.y * b.x;
}

// How far a place is outside a pair of sides of the outline, below 0 between them.
float beyond(vec2 side, vec2 other, vec2 third) {
    float reach = abs(cross2(side, other)) + abs(cross2(side, third));
    float wide = length(side);  // 0 where a tray has no height
    return wide > 1e-6 ? (abs(cross2(side, v_at)) - reach) / wide : -1e6;
}

void main() {
    float front = beyond(v_near, v_right, v_up);
    float outside = max(max(beyond(v_right, v_up, v_near), beyond(v_up, v_near, v_right)), front);
    float alpha = v_color.a * smoothstep(v_soft, -v_soft, outside);
    // The front edge of a tray, which is below, is a line.
    bool is_front = v_soft <= 0.5 && cross2(v_near, v_at) * v_near.x < 0.0;
    alpha *= is_front ? 1.0 + clamp(1.0 - abs(front + 0.5), 0.0, 1.0) : 1.0;
    gl_FragColor = vec4(v_color.rgb * alpha, alpha);
}
