"""The layers, one file a kind. To add one, write its class and a line here."""

from scalarviz.layers.base import Layer
from scalarviz.layers.dense import Dense
from scalarviz.layers.encoding import FrequencyEncoding
from scalarviz.layers.norms import LayerNorm, RMSNorm
from scalarviz.layers.perceptron import Perceptron
from scalarviz.layers.pooling import AvgPool2d, MaxPool2d
from scalarviz.layers.softmax import Softmax

LAYERS: dict[str, type[Layer]] = {
    kind.__name__: kind
    for kind in (Dense, FrequencyEncoding, LayerNorm, RMSNorm, Softmax, MaxPool2d, AvgPool2d)
}

__all__ = [
    "LAYERS",
    "AvgPool2d",
    "Dense",
    "FrequencyEncoding",
    "Layer",
    "LayerNorm",
    "MaxPool2d",
    "Perceptron",
    "RMSNorm",
    "Softmax",
]
