"""What `test_models.py` runs in numba's simulator: each stored model on the cuda engine."""

import numpy as np
import pytest

from tests.files.onnx.models import MODELS, load, trained


@pytest.mark.parametrize("name", MODELS)
def test_a_model_learns_on_cuda_what_it_learns_elsewhere(name: str) -> None:
    nets = load(name), load(name)
    expected, losses = trained(nets[0], "python"), trained(nets[1], "cuda")
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(nets[1].bank.value, nets[0].bank.value, rtol=1e-3, atol=1e-5)
