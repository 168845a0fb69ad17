
// The way to the light on cubes, in space: from above, and from the left of the eye. With perspective
// the transform of the view has the way away from the eye as a slope, else all rays are that.
vec3 key_light(bool near, vec3 ray) {
    vec3 slope = vec3(to_clip(vec4(1.0, 0.0, 0.0, 0.0)).w, 0.0, to_clip(vec4(0.0, 0.0, 1.0, 0.0)).w);
    vec3 away = near ? slope : vec3(ray.x, 0.0, ray.z);
    vec3 back = normalize(vec3(0.0, 0.0, 1e-9) - away);
    return vec3(0.0, 0.77, 0.0) + 0.597 * back - 0.229 * vec3(back.z, 0.0, -back.x);
}
