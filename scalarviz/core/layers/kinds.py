"""The kinds of layers: each import is a row of LAYERS and a public name, such as `sv.Dense`."""
# ruff: noqa: I001  # messages list them in this order

from scalarviz.core.layers.dense import Dense as Dense
from scalarviz.core.layers.rowwise_layers import FrequencyEncoding as FrequencyEncoding
from scalarviz.core.layers.normalization import LayerNorm as LayerNorm
from scalarviz.core.layers.normalization import RMSNorm as RMSNorm
from scalarviz.core.layers.normalization import GroupNorm as GroupNorm
from scalarviz.core.layers.rowwise_layers import Softmax as Softmax
from scalarviz.core.layers.rowwise_layers import LogSoftmax as LogSoftmax
from scalarviz.core.layers.picture_layers import Conv2d as Conv2d
from scalarviz.core.layers.picture_layers import Conv1d as Conv1d
from scalarviz.core.layers.picture_layers import MaxPool2d as MaxPool2d
from scalarviz.core.layers.picture_layers import AvgPool2d as AvgPool2d
from scalarviz.core.layers.rowwise_layers import Flatten as Flatten
from scalarviz.core.layers.rowwise_layers import Reshape as Reshape
from scalarviz.core.layers.normalization import BatchNorm as BatchNorm
from scalarviz.core.layers.normalization import Affine as Affine
from scalarviz.core.layers.sequence_layers import Embedding as Embedding
from scalarviz.core.layers.sequence_layers import Attention as Attention
from scalarviz.core.layers.elementwise_layers import Dropout as Dropout
from scalarviz.core.layers.rowwise_layers import Spread as Spread
from scalarviz.core.layers.rowwise_layers import Slice as Slice
from scalarviz.core.layers.nested import Residual as Residual
from scalarviz.core.layers.nested import Product as Product
from scalarviz.core.layers.nested import Concatenate as Concatenate
from scalarviz.core.layers.elementwise_layers import Activation as Activation
from scalarviz.core.layers.elementwise_layers import PReLU as PReLU
from scalarviz.core.layers.elementwise_layers import Elementwise as Elementwise
