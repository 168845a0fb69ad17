"""Networks from ONNX files, and networks as ONNX files."""
