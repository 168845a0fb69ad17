#version 120
#define LINES 0               // 1: for lines without joints alone, since software renders all branches
uniform float u_ratio;
uniform vec2 u_atlas_size;
uniform sampler2D u_atlas;
uniform sampler2D u_images;
uniform vec2 u_images_size;  // in pixels

varying vec4 v_place;
varying vec2 v_at;
varying vec4 v_extra;
varying vec4 v_style;
varying vec4 v_clip;
varying vec4 v_fill;
varying vec4 v_outline;

const float STRIPE = 5.0;     // logical pixels from one stripe to the next

// Distances from the edge, in logical pixels, negative inside.
float to_box(vec2 at, vec2 size, float radius) {
    vec2 beyond = abs(at) - size + radius;
    return min(max(beyond.x, beyond.y), 0.0) + length(max(beyond, 0.0)) - radius;
}

float to_arrow(vec2 at, vec2 size, float head, float shaft) {
    vec2 slope = normalize(vec2(size.y, head));
    float neck = size.x - head;
    float to_head = max(neck - at.x, dot(vec2(at.x - size.x, abs(at.y)), slope));
    float to_shaft = max(max(-size.x - at.x, at.x - neck - 0.5 * head), abs(at.y) - shaft);
    return min(to_head, to_shaft);
}

float covered(float edge) {
    return clamp(0.5 - edge * u_ratio, 0.0, 1.0);
}

void main() {
    if (any(lessThan(v_at, v_clip.xy)) || any(greaterThanEqual(v_at, v_clip.zw))) {
        discard;
    }
#if LINES
    gl_FragColor = v_fill * covered(to_box(v_place.xy, v_place.zw, v_place.w));
#else
    vec2 at = v_place.xy;
    vec2 size = v_place.zw;
    float kind = v_style.z;
    if (kind > 2.5 && kind < 3.5) {
        gl_FragColor = v_fill * texture2D(u_atlas, v_extra.xy / u_atlas_size).r;
        return;
    }
    if (kind > 3.5) {
        vec2 spot = mix(v_extra.xy, v_extra.zw, clamp(0.5 + 0.5 * at / size, 0.0005, 0.9995));
        if (kind < 4.5) {
            spot = (floor(spot * u_images_size) + 0.5) / u_images_size;
        }
        gl_FragColor = texture2D(u_images, spot) * covered(to_box(at, size, v_style.w));
        return;
    }
    if (kind > 1.5) {
        gl_FragColor = v_fill * covered(to_arrow(at, size, v_extra.x, v_extra.y));
        return;
    }
    if (kind > 0.5) {
        // The cuts of two joined lines overlap slightly, so that no pixel between them is lost.
        float hair = 0.01 / u_ratio;
        float straight = size.x - size.y;
        bool early = dot(at + vec2(straight, 0.0), v_extra.xy) < hair * length(v_extra.xy);
        bool late = dot(at - vec2(straight, 0.0), v_extra.zw) > hair * length(v_extra.zw);
        if ((early && dot(v_extra.xy, v_extra.xy) > 0.0) || late) {
            discard;
        }
    }
    float edge = to_box(at, size, v_style.x);
    float outer = covered(edge);
    float inner = covered(edge + v_style.y);
    vec4 fill = v_fill;
    if (v_style.w > 0.0) {
        float stripe = abs(fract((at.x + at.y) / (1.41421356 * STRIPE)) - 0.5) * STRIPE;
        float light = dot(fill.rgb, vec3(0.3, 0.6, 0.1)) > 0.5 * fill.a ? 0.0 : fill.a;
        float amount = v_style.w * clamp((stripe - 0.25 * STRIPE) * u_ratio + 0.5, 0.0, 1.0);
        fill.rgb = mix(fill.rgb, vec3(light), amount);
    }
    gl_FragColor = fill * inner + v_outline * (outer - inner);
#endif
}
