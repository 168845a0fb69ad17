
// The way to the light on cubes, in space: from above, and from the left of the eye. With perspective
// it is that of the ray in the middle of the picture, else all rays are that.
vec3 key_light(bool near, vec3 ray) {
    vec4 eye = from_clip(vec4(0.0, 0.0, 1.0, 0.0));
    vec4 far = from_clip(vec4(0.0, 0.0, 1.0, 1.0));
    vec3 away = near ? far.xyz / far.w - eye.xyz / eye.w : ray;
    vec3 back = normalize(vec3(-away.x, 0.0, 1e-9 - away.z));
    return vec3(0.0, 0.77, 0.0) + 0.597 * back - 0.229 * vec3(back.z, 0.0, -back.x);
}
