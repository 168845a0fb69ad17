"""Files: networks and runs in checked safetensors files, written atomically."""
