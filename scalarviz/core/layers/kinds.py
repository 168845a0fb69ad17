"""The kinds of layers: each line here is a row of LAYERS, and a public name, such as `sv.Dense`."""
# ruff: noqa: I001  # messages list them in this order

from scalarviz.core.layers.dense import Dense as Dense
from scalarviz.core.layers.encoding import FrequencyEncoding as FrequencyEncoding
from scalarviz.core.layers.norms import LayerNorm as LayerNorm
from scalarviz.core.layers.norms import RMSNorm as RMSNorm
from scalarviz.core.layers.softmax import Softmax as Softmax
from scalarviz.core.layers.softmax import LogSoftmax as LogSoftmax
from scalarviz.core.layers.convolution import Conv2d as Conv2d
from scalarviz.core.layers.pooling import MaxPool2d as MaxPool2d
from scalarviz.core.layers.pooling import AvgPool2d as AvgPool2d
from scalarviz.core.layers.shapes import Flatten as Flatten
from scalarviz.core.layers.shapes import Reshape as Reshape
from scalarviz.core.layers.batch_norm import BatchNorm as BatchNorm
from scalarviz.core.layers.affine import Affine as Affine
from scalarviz.core.layers.dropout import Dropout as Dropout
from scalarviz.core.layers.spread import Spread as Spread
from scalarviz.core.layers.residual import Residual as Residual
from scalarviz.core.layers.branches import Product as Product
from scalarviz.core.layers.branches import Concatenate as Concatenate
from scalarviz.core.layers.activation import Activation as Activation
from scalarviz.core.layers.elementwise import PReLU as PReLU
from scalarviz.core.layers.elementwise import Elementwise as Elementwise
