#version 120
// See ground.vert.

uniform vec3 u_pool;
varying vec2 v_at;
varying vec4 v_first;
varying vec4 v_second;
varying vec3 v_reach;
varying vec4 v_color;

void main() {
    vec3 across = vec3(dot(v_at, v_first.xy), dot(v_at, v_first.zw), dot(v_at, v_second.xy));
    vec3 beyond = abs(across) - v_reach;
    float outside = max(beyond.x, v_second.w > 0.0 ? beyond.z : max(beyond.y, beyond.z));
    float alpha = v_color.a * smoothstep(v_second.z, -v_second.z, outside);
    // The front edge of a tray is a line.
    float edge = clamp(1.0 - abs(across.z - v_reach.z + 0.5), 0.0, 1.0);
    alpha *= 1.0 + v_second.w * edge;
    // A little noise, so that the pool of light has no rings.
    float noise = fract(52.98 * fract(dot(gl_FragCoord.xy, vec2(0.06711, 0.00584)))) - 0.5;
    gl_FragColor = v_second.w < 0.0 ? vec4(u_pool * exp(-dot(v_at, v_at)) + noise / 255.0, 0.0) :
                                      vec4(v_color.rgb * alpha, alpha);
}
