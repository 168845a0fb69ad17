"""The layers, one class for each kind; `kinds` lists them."""

from typing import TYPE_CHECKING, Any

from scalarviz.core.layers import kinds
from scalarviz.core.layers.kinds import *  # noqa: F403  # it contains only these
from scalarviz.core.layers.layer import Layer as Layer
from scalarviz.core.perceptron import Perceptron as Perceptron

LAYERS: dict[str, type[Layer]] = {
    name: kind for name, kind in vars(kinds).items() if not name.startswith("_")
}

if TYPE_CHECKING:

    class AnyLayer(Layer):
        """A layer of a network, for type checkers: further attributes depend on its kind."""

        def __getattr__(self, name: str) -> Any: ...
