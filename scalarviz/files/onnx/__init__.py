"""Import and export of ONNX files; needs the extra `onnx`.

    net = sv.onnx.load("model.onnx", train=["fc2"])
    sv.onnx.save(net, "retrained.onnx")

A file is read in these steps, one module each:

    tensors    its tensors, from the file or a second one
    weighing   the number of its parts, before it is parsed
    graph      its nodes, as plain data
    fusions    nodes that form one layer, such as MatMul and Add
    operators  OPERATORS: how each operator is read; one row each
    reading    the layers from input to output, and the network of them
    writing    the nodes of a network; WRITERS: how each layer is written
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.checks.numbers import true_or_false
from scalarviz.base.progress import Progress

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network

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
    """Load the network in an ONNX file, ready to be trained.

    path    the file, .onnx; a second file with its numbers is read beside it
    train   which parameters are trained, the others being frozen: their names in the file,
            beginnings of names up to a separator ("fc2"), or patterns ("conv*.weight"); None: all
            that are not in `freeze`
    freeze  which are frozen, the others being trained; with both, every parameter belongs to one
    dtype   "float32", the default, or "float64" for a model of that type
    output  which value of the graph to compute, where it has several outputs; None: the one with
            numbers, such as the probabilities of a classifier beside its labels
    limit   bytes that the file, its numbers and the network made of it may take each; None: 640 MB,
            and 4,096 nodes, which grow with it

    The error lists all operators that scalarviz has no layer for, before anything is built.

    Raises FileError for a file that is damaged or too large, and InputError for operators without a
    layer.
    """
    from scalarviz.files.onnx.reading import load_model

    return load_model(path, train, freeze, dtype, output, limit)


def save(net: Network, path: object, *, progress: bool = True) -> None:
    """Write a network as an ONNX model, with the names that it was loaded with.

    net       any Network; its dtype is kept
    path      the file, .onnx
    progress  True, the default: a progress bar in a terminal or a notebook, if writing takes longer
              than a second; False: none

    Few programs compute convolutions in float64: save `net.copy("float32")` for them. Raises
    FileError if the file cannot be written, and InputError for layers that ONNX lacks.
    """
    from scalarviz.files.onnx.writing import save_model

    with Progress(0, true_or_false(progress, "progress"), "megabytes"):
        save_model(net, path)
