#version 120
// A sphere with an outline and a smooth edge, lit as cubes are, with its own depth.

varying vec2 v_at;
varying vec3 v_start;
varying vec3 v_ray;
varying vec4 v_depth;
varying vec3 v_size;
varying vec3 v_key;
varying vec3 v_fill;
varying vec3 v_outline;

void main() {
    float from_middle = length(v_at);
    float edge = (from_middle - 1.0) * v_size.y;
    float covered = clamp(0.5 - edge, 0.0, 1.0);
    if (covered <= 0.0) discard;

    float square = dot(v_ray, v_ray);
    float along = dot(v_start, v_ray);
    float beyond = dot(v_start, v_start) - v_size.x * v_size.x;
    float hit = (-along - sqrt(max(along * along - square * beyond, 0.0))) / square;
    vec2 clip = v_depth.xy + hit * v_depth.zw;
    gl_FragDepth = clamp(0.5 * clip.x / clip.y + 0.5, 0.0, 1.0);

    float height = sqrt(max(1.0 - from_middle * from_middle, 0.0));
    float bright = 0.94 + 0.22 * dot(vec3(v_at, height), v_key);
    float inside = clamp(0.5 - edge - v_size.z, 0.0, 1.0);
    vec3 color = mix(v_outline, min(v_fill * bright, vec3(1.0)), inside);
    gl_FragColor = vec4(color * covered, covered);
}
