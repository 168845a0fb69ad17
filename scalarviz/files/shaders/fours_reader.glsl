// Reads parameters from a texture with four in each texel, and TEXELS texels in a line.

uniform sampler2D u_fours;
uniform vec2 u_fours_size;

vec4 network_four(int place) {
    int four = place / 4;
    int line = four / TEXELS;  // by a constant, which takes half the time
    vec2 at = vec2(float(four - line * TEXELS), float(line));
#ifdef GL_ES
    return texelFetch(u_fours, ivec2(at), 0);
#else
    return texture2D(u_fours, (at + 0.5) / u_fours_size);
#endif
}
