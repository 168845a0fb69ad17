#version 120
uniform vec2 u_size;          // size of the canvas in logical pixels
uniform float u_ratio;        // device pixels per logical pixel

attribute vec4 a_place;
attribute vec4 a_axis;
attribute vec4 a_extra;
attribute vec4 a_style;
attribute vec4 a_clip;
attribute vec4 a_color;

varying vec4 v_place;         // position on the shape's axes; half its width and height
varying vec2 v_at;            // position on the canvas
varying vec4 v_extra;
varying vec4 v_style;
varying vec4 v_clip;
varying vec4 v_fill;          // premultiplied by alpha, as is the outline
varying vec4 v_outline;

vec4 unpacked(vec2 two) {
    vec2 high = floor(two / 256.0);
    vec4 color = vec4(high.x, two.x - 256.0 * high.x, high.y, two.y - 256.0 * high.y) / 255.0;
    return vec4(color.rgb * color.a, color.a);
}

void main() {
    float kind = floor(a_style.z / 4.0);
    float corner = a_style.z - 4.0 * kind;
    vec2 side = vec2(mod(corner, 2.0), floor(corner / 2.0));
    float pixel = 1.0 / u_ratio;

    // Shapes thinner than a pixel are drawn one pixel wide, and fainter.
    vec2 size = max(a_place.zw, 0.5 * pixel);
    vec2 cover = min(a_place.zw / (0.5 * pixel), 1.0);
    float faint = kind == 0.0 ? cover.x * cover.y : cover.y;
    float radius = kind > 3.5 ? 0.0 : min(a_style.x, min(size.x, size.y));
    if (kind == 1.0) {
        size.x = a_place.z - a_place.w + size.y;
        radius = size.y;
    }

    vec2 reach = kind == 3.0 ? size : size + pixel;  // letters are antialiased already
    vec2 own = (2.0 * side - 1.0) * reach;
    vec2 down = kind > 3.5 ? a_style.xy : vec2(-a_axis.y, a_axis.x);
    v_at = a_place.xy + own.x * a_axis.xy + own.y * down;
    v_place = vec4(own, size);
    v_extra = a_extra;
    if (kind == 3.0) {
        v_extra.xy = mix(a_extra.xy, a_extra.zw, side);
    }
    v_style = vec4(radius, a_style.y, kind, a_style.w);
    v_clip = a_clip;
    v_fill = unpacked(a_color.xy) * faint;
    v_outline = unpacked(a_color.zw) * faint;

    float along = 0.5 + 0.5 * own.x / max(size.x - radius, 0.001);
    float depth = clamp(mix(a_axis.z, a_axis.w, along), -1.0, 1.0);
    gl_Position = vec4(2.0 * v_at.x / u_size.x - 1.0, 1.0 - 2.0 * v_at.y / u_size.y, depth, 1.0);
}
