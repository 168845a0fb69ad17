#version 120
// The ground with a pool of light; see ground.vert.

uniform vec3 u_ground;
uniform vec3 u_pool;
varying vec2 v_at;

void main() {
    // Nearly exp(-d * d), and a little noise, so that there are no rings.
    float light = max(1.0 - 0.125 * dot(v_at, v_at), 0.0);
    light *= light;
    light *= light;
    float noise = fract(52.98 * fract(dot(gl_FragCoord.xy, vec2(0.06711, 0.00584)))) - 0.5;
    gl_FragColor = vec4(u_ground + light * light * u_pool + noise / 255.0, 1.0);
}
