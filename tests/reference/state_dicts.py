"""State dicts of PyTorch's models, with their outputs."""

import torch
from tensors import Entry
from torch import nn


def dense() -> tuple[nn.Module, torch.Tensor]:
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)), torch.rand(4, 3)


class Pictures(nn.Module):
    """A convolution, norms with statistics of their own, and two kinds of module between."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 3, (2, 3)), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(),
            nn.Linear(18, 4), nn.LayerNorm(4), nn.Linear(4, 2, bias=False),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)  # type: ignore[no-any-return]  # a module's call has no type


def pictures() -> tuple[nn.Module, torch.Tensor]:
    model = Pictures()
    model(3.0 * torch.rand(20, 2, 4, 4) + 1.0)  # running statistics
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.rand_like(parameter)
    return model, torch.rand(4, 2, 4, 4)


def state_dicts() -> Entry:
    """Each model's arrays by name, inputs, one row a sample, and outputs."""
    torch.set_default_dtype(torch.float64)
    found = {}
    for make in (dense, pictures):
        torch.manual_seed(3)
        model, x = make()
        model.eval()
        found[make.__name__] = {
            "arrays": {name: array.tolist() for name, array in model.state_dict().items()},
            "inputs": x.flatten(1).tolist(),
            "outputs": model(x).tolist(),
        }
    return found
