"""Short ways to make tensors, all float64, and to lay them out flat."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

Entry = dict[str, Any]


def tensor(numbers: Any, *, learns: bool = False) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=learns)


def random(*shape: int, scale: float = 1.0) -> Tensor:
    """Normal draws of three decimals, so that they are short to store."""
    return (scale * torch.randn(*shape, dtype=torch.float64)).round(decimals=3)


def flat(tensors: Sequence[Tensor]) -> list[float]:
    return [x for one in tensors for x in one.detach().flatten().tolist()]
