"""Networks from ONNX files, and networks as ONNX files; it takes the extra `onnx`.

    net = sv.onnx.load("model.onnx", train=["fc2"])
    sv.onnx.save(net, "retrained.onnx")

A file goes through these steps, one module each:

    tensors    its numbers, those in a second file too
    weighing   how many parts it has, by its bytes
    graph      its nodes, as plain data
    fusions    several nodes that are one thing, such as MatMul and Add
    operators  OPERATORS: what each operator is here; another one is one row
    reading    the steps from input to output, and the network that is made of them
    writing    a network as nodes; WRITERS: how each layer is written
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scalarviz.network.network import Network

__all__ = ["load", "save"]


def load(
    path: object,
    train: Sequence[str] | None = None,
    freeze: Sequence[str] | None = None,
    *,
    dtype: str = "float32",
    output: str | None = None,
    limit: int | None = None,
) -> Network:
    """The network in an ONNX file, ready to be trained further.

    train   which parameters may learn, all others being frozen: their names in the file, the
            beginnings of names up to a dot ("fc2"), or patterns ("conv*.weight")
    freeze  which are frozen, all others learning; with both, every parameter belongs to one
    dtype   "float32", or "float64" for a model that was made in it
    output  which value of the graph to compute, where it has several outputs; None: the one with
            numbers, such as the probabilities of a classifier beside its labels
    limit   bytes that the file, its numbers and the network made of it may take each; None: 640 MB,
            and 4,096 nodes, which grow with it

    What scalarviz has no layer for is named, all of it, before anything is built.

    path    the file, .onnx; a second file with its numbers is read beside it

    Raises FileError for a file that is damaged or too large, and InputError for what has no layer
    here.
    """
    from scalarviz.onnx.reading import load_model

    return load_model(path, train, freeze, dtype, output, limit)


def save(net: Network, path: object) -> None:
    """Write a network as an ONNX model, under the names that it was loaded with, if it was.

    The numbers have the network's type. Few programs compute convolutions in float64: save
    `net.copy("float32")` for them.

    `net` is any Network, `path` the file, .onnx; FileError if it cannot be written.
    """
    from scalarviz.onnx.writing import save_model

    save_model(net, path)
