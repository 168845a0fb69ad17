"""Export of networks to GLSL, HLSL and NPZ."""
