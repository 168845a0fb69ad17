"""The layers, one class a kind. A new one is imported here, and added to ALL_LAYERS and __all__."""

from scalarviz.layers.activation import Activation
from scalarviz.layers.base import Layer
from scalarviz.layers.batch_norm import BatchNorm
from scalarviz.layers.convolution import Conv2d
from scalarviz.layers.dense import Dense
from scalarviz.layers.dropout import Dropout
from scalarviz.layers.encoding import FrequencyEncoding
from scalarviz.layers.norms import LayerNorm, RMSNorm
from scalarviz.layers.perceptron import Perceptron
from scalarviz.layers.pooling import AvgPool2d, MaxPool2d
from scalarviz.layers.residual import Residual
from scalarviz.layers.shapes import Flatten, Reshape
from scalarviz.layers.softmax import Softmax

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
