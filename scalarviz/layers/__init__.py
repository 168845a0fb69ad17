"""The layers, one file a kind. To add one, write its class and a line here."""

from scalarviz.layers.base import Layer
from scalarviz.layers.dense import Dense
from scalarviz.layers.encoding import FrequencyEncoding
from scalarviz.layers.norms import LayerNorm, RMSNorm
from scalarviz.layers.perceptron import Perceptron
from scalarviz.layers.softmax import Softmax

LAYERS: dict[str, type[Layer]] = {
    kind.__name__: kind for kind in (Dense, FrequencyEncoding, LayerNorm, RMSNorm, Softmax)
}

__all__ = [
    "LAYERS",
    "Dense",
    "FrequencyEncoding",
    "Layer",
    "LayerNorm",
    "Perceptron",
    "RMSNorm",
    "Softmax",
]
