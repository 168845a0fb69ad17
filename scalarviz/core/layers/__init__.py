"""The layers, one class a kind. A new one is imported here, and added to ALL_LAYERS and __all__."""

from scalarviz.core.layers.activation import Activation
from scalarviz.core.layers.base import Layer
from scalarviz.core.layers.batch_norm import BatchNorm
from scalarviz.core.layers.convolution import Conv2d
from scalarviz.core.layers.dense import Dense
from scalarviz.core.layers.dropout import Dropout
from scalarviz.core.layers.encoding import FrequencyEncoding
from scalarviz.core.layers.norms import LayerNorm, RMSNorm
from scalarviz.core.layers.perceptron import Perceptron
from scalarviz.core.layers.pooling import AvgPool2d, MaxPool2d
from scalarviz.core.layers.residual import Residual
from scalarviz.core.layers.shapes import Flatten, Reshape
from scalarviz.core.layers.softmax import Softmax

ALL_LAYERS = (
    Dense, FrequencyEncoding, LayerNorm, RMSNorm, Softmax, Conv2d, MaxPool2d, AvgPool2d, Flatten,
    Reshape, BatchNorm, Dropout, Residual, Activation,
)  # fmt: skip
LAYERS: dict[str, type[Layer]] = {kind.__name__: kind for kind in ALL_LAYERS}

__all__ = [
    "LAYERS",
    "Activation",
    "AvgPool2d",
    "BatchNorm",
    "Conv2d",
    "Dense",
    "Dropout",
    "Flatten",
    "FrequencyEncoding",
    "Layer",
    "LayerNorm",
    "MaxPool2d",
    "Perceptron",
    "RMSNorm",
    "Reshape",
    "Residual",
    "Softmax",
]
