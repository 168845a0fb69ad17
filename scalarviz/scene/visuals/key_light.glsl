
// One light for cubes and spheres, in space: from above, and from before the faces that look largest
// from here, so that these have the color of their number. Until faces are TURN larger than others,
// both share it.
const float FRONT = 0.34;
const float TOP = 0.52;
const float TURN = 0.02;

// The way out of the faces that look largest; the transform of the view has its direction as a slope.
vec3 front_of(bool near, vec3 ray) {
    vec3 slope = vec3(to_clip(vec4(1.0, 0.0, 0.0, 0.0)).w, to_clip(vec4(0.0, 1.0, 0.0, 0.0)).w,
                      to_clip(vec4(0.0, 0.0, 1.0, 0.0)).w);
    vec3 toward = -normalize(near ? slope : ray);
    vec3 share = abs(toward);
    return sign(toward) * smoothstep(-TURN, TURN, share - max(share.yzx, share.zxy));
}

vec3 key_light(vec3 front) {
    return FRONT * front + vec3(0.0, TOP * (1.0 - abs(front.y)), 0.0);
}
