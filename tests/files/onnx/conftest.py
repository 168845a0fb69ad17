"""The script that makes the models takes PyTorch; the tests take onnxruntime, if it is there."""

from importlib.util import find_spec
from pathlib import Path

import pytest

collect_ignore = ["make_models.py"]
collect_ignore_glob = [] if find_spec("onnxruntime") and find_spec("onnx") else ["*.py"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.onnx"
