#version 120
// A ball with a smooth edge, its own depth and a soft shadow on the ground. A ball of glass is filled
// up to its amount, and has a ring around it.

uniform vec3 u_glass;
uniform vec4 u_shadow;
varying vec2 v_at;
varying vec3 v_start;
varying vec3 v_ray;
varying vec4 v_depth;
varying vec3 v_size;
varying vec3 v_fill;
varying vec4 v_ring;

// The light, to the right, up and to the eye; and halfway from it to the eye.
const vec3 KEY = vec3(-0.45, 0.62, 0.64);
const vec3 GLEAM = vec3(-0.36, 0.5, 0.79);

void main() {
    float from_middle = length(v_at);
    float edge = (from_middle - 1.0) * v_size.y;
    float ball = clamp(0.5 - edge, 0.0, 1.0);
    float ring = v_size.z > 0.0 ? clamp(0.5 + 0.6 * v_size.z - abs(edge - v_size.z), 0.0, 1.0) : 0.0;
    float soft = smoothstep(1.3, 0.7, length(v_at + vec2(0.0, 0.12)));
    float covered = max(max(ball, ring), soft * u_shadow.a);
    if (covered <= 0.0) discard;

    float square = dot(v_ray, v_ray);
    float along = dot(v_start, v_ray);
    float beyond = dot(v_start, v_start) - v_size.x * v_size.x;
    float hit = (-along - sqrt(max(along * along - square * beyond, 0.0))) / square;
    vec2 clip = v_depth.xy + hit * v_depth.zw;
    gl_FragDepth = ball + ring > 0.0 ? clamp(0.5 * clip.x / clip.y + 0.5, 0.0, 1.0) : 0.99999;

    vec3 normal = vec3(v_at, sqrt(max(1.0 - from_middle * from_middle, 0.0)));
    float amount = v_ring.a;
    float level = clamp(0.5 + (1.72 * amount - 0.86 - v_at.y) * v_size.y, 0.0, 1.0);
    vec3 color = amount < 0.0 ? v_fill : mix(u_glass, 0.86 * v_ring.rgb, level);
    float rim = 1.0 - normal.z;
    float shine = 0.35 * pow(max(dot(normal, GLEAM), 0.0), 40.0) + 0.18 * rim * rim * rim;
    shine *= smoothstep(3.0, 9.0, v_size.y);  // a small ball would be white
    float least = 0.3 + 0.32 * u_glass.g;  // on light ground balls have less shade
    color = min(color * (least + (1.12 - least) * max(dot(normal, KEY), 0.0)) + shine, vec3(1.0));
    color = mix(mix(u_shadow.rgb, v_ring.rgb, ring), color, ball);
    gl_FragColor = vec4(color, 1.0) * covered;
}
