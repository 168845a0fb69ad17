"""WeightedLayer: the base of layers whose parameters are a kernel and, mostly, a bias."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from scalarviz.base.checks import FloatArray
from scalarviz.core.layers.arrays import ParameterArray, own_parameters
from scalarviz.core.layers.base import Layer
from scalarviz.core.model.operations import Shape
from scalarviz.errors import InputError


class WeightedLayer(Layer):
    """A layer with one or two arrays of parameters.

    `inputs`, `outputs`, `activation` and `parameters` are as in Layer.
    """

    @abstractmethod
    def parameter_shapes(self) -> dict[str, Shape]:
        """Return the shape of "weight" and, if there is one, of "bias"."""

    @property
    def kernel(self) -> FloatArray:
        """The weights: a view of `bank.value`, in the shape that they have in PyTorch.

        (outputs, inputs) for Dense, (kernels, channels, height, width) for Conv2d, (features,) for
        norms. Writing into it is setting the value of each Weight; `layer.kernel = array` copies.
        """
        return self._parameter("weight").value

    @kernel.setter
    def kernel(self, numbers: object) -> None:
        self._parameter("weight").value = numbers

    @property
    def bias(self) -> FloatArray | Any:  # not "| None": a type checker takes `bias[0]` unchecked
        """The biases: a view of `bank.value`, as `kernel`; None if the layer has none."""
        return self._parameter("bias").value if "bias" in self.parameter_shapes() else None

    @bias.setter
    def bias(self, numbers: object) -> None:
        self._parameter("bias").value = numbers

    def _parameter(self, role: str) -> ParameterArray:
        found = own_parameters(self).get(role)
        if found is None:
            raise InputError(f"{self} has no {role}: make a layer with one")
        found.name = f"the {'kernel' if role == 'weight' else role} of {self}"
        self._has_lent = True
        return found
