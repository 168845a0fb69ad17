"""Copies of the numbers of a training, beside which its record is laid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from scalarviz.training.follow.followed import Followed


def numbers_of(tensor: Any) -> Any:
    """Return a copy of the numbers of a tensor, as a record has them; None for "meta"."""
    if tensor.device.type == "meta":
        return None
    tensor = tensor.detach()
    tensor = tensor.to_dense() if tensor.is_sparse else tensor
    return np.array((tensor.float() if tensor.element_size() < 4 else tensor).numpy())


def bits(arrays: dict[str, Any], dtype: str) -> dict[str, tuple[Any, bytes]]:
    """Return shapes and bytes of arrays; those of "meta" are left out."""
    known = {name: each for name, each in arrays.items() if each is not None}
    return {name: (each.shape, each.astype(dtype).tobytes()) for name, each in known.items()}


class Witness:
    """Takes the steps of a training, and keeps what stands before and after each.

    Args:
        run: a Following that gets the loss after each step; None: no losses are reported
    """

    def __init__(self, model: Any, run: Any = None) -> None:
        self.model, self.run = model, run
        self.values, self.befores = list[dict[str, Any]](), list[dict[str, Any]]()
        self.gradients: list[dict[str, Any]] = [{}]
        self.losses: list[float] = []

    def copies(self) -> dict[str, Any]:
        """Return copies of parameters, and of saved buffers with fractions."""
        saved = self.model.state_dict(keep_vars=True)
        buffers = [x for x in self.model.named_buffers() if x[0] in saved]
        return {
            name: numbers_of(each)
            for name, each in [*self.model.named_parameters(remove_duplicate=False), *buffers]
            if each.is_floating_point()
        }

    def read_gradients(self, scale: float) -> dict[str, Any]:
        """Return copies of gradients, without a scale that the optimizer takes away."""
        named = self.model.named_parameters(remove_duplicate=False)
        known = [(name, each.grad) for name, each in named if each.grad is not None]
        found = {name: numbers_of(each) for name, each in known}
        return {name: each if each is None else each / scale for name, each in found.items()}

    def step(self, step: Callable[..., Any], *closure: Any, loss: Any, scale: float = 1.0) -> None:
        """Take a step by `step(*closure)`, with a loss."""
        self.befores.append(self.copies())
        self.values = self.values or self.befores[:]
        gradients = self.read_gradients(scale)
        step(*closure)
        self.gradients.append(self.read_gradients(scale) if closure else gradients)
        self.values.append(self.copies())
        self.losses.append(
            float(loss if isinstance(loss, float) else loss.item()) if self.run else math.nan
        )
        if self.run:
            self.run.loss(loss)

    def check(self, followed: Followed, *, kept: int | None = None) -> None:
        """All that was recorded has the bits of the copies; all steps are kept, or `kept`."""
        steps = followed.steps.tolist()
        assert steps == sorted({*steps}) and steps[0] == 0
        assert len(steps) == (len(self.values) if kept is None else kept)
        for step in steps:
            dtype = followed.kept(step).head.dtype.str
            assert bits(followed.parameters(step), dtype) == bits(self.values[step], dtype)
            if step and "before" in followed.kept(step).parts:
                before = followed._part(step, "before", 0)
                assert bits(before, dtype) == bits(self.befores[step - 1], dtype)
            if kept is None or step != steps[-1]:  # the last one may be that of `close`
                gradients = bits(followed.gradients(step), dtype)
                assert gradients == bits(self.gradients[step], dtype)
        assert followed.losses.tobytes() == np.array(self.losses, float).tobytes()
