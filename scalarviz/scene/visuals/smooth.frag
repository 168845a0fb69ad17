#version 120
uniform sampler2D u_picture;
varying vec2 v_at;
void main() {
    gl_FragColor = vec4(texture2D(u_picture, v_at).rgb, 1.0);
}
