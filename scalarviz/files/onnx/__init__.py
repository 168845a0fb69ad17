"""Import and export of ONNX files; needs the `onnx` extra.

    net = sv.onnx.load("model.onnx", train=["fc2"])
    sv.onnx.save(net, "retrained.onnx")

A file is read in these steps, one module for each:

    onnx_graph  nodes and tensors as plain data, whose size is checked before parsing
    fusions     nodes that form one layer, such as MatMul and Add
    operators   OPERATORS: a reader for each operator
    flows       results of operators: values, with the steps that lead to them
    reading     the layers from input to output, and their network

`writing` writes the nodes of a network, with a row of WRITERS for each layer. `training_step`
writes a whole training step of dense and convolution layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalarviz.base.checks import true_or_false
from scalarviz.base.progress import Progress

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network
    from scalarviz.training.session.session import Session

__all__ = ["load", "save", "save_step"]


def load(
    path: object,
    train: Sequence[str] | None = None,
    freeze: Sequence[str] | None = None,
    *,
    dtype: str = "float32",
    output: str | None = None,
    limit: int | None = None,
) -> Network:
    """Load the network in an ONNX file, ready for training.

    Several inputs are concatenated into one row; `net.input_widths` has their names.

    Args:
        path: the file, .onnx; a second file with its numbers may be in the same folder
        train: parameters to train, while the others are frozen: names in the file, prefixes up to a
            separator ("fc2"), or patterns ("conv*.weight"); None means all that are not in `freeze`
        freeze: parameters to freeze, while the others are trained; if `train` is also given, every
            parameter must be in one of them
        dtype: "float32" (default), or "float64" for a model of that type
        output: name of the value to compute, if the graph has several outputs; None means the
            numeric one, such as the probabilities of a classifier rather than its labels
        limit: maximum bytes of the file, of its numbers, and of the network; the maximum number of
            nodes is proportional to it; None means 640 MB and 4,096 nodes

    Returns a Network. Errors list all operators without an equivalent layer.

    Raises:
        FileError: if the file is damaged or too large.
        InputError: if an operator has no equivalent layer.
    """
    from scalarviz.files.onnx.reading import load_model

    return load_model(path, train, freeze, dtype, output, limit)


def save(net: Network, path: object, *, progress: bool = True) -> None:
    """Save a network as an ONNX model, with the names from the file it was loaded from.

    Args:
        net: any Network; its dtype and the inputs of `net.input_widths` are kept
        path: the file, .onnx
        progress: whether to show a progress bar, in a terminal or notebook, if writing takes longer
            than a second; by default True

    Few programs support convolutions in float64: save `net.copy("float32")` for other programs.
    Raises FileError if the file cannot be written, InputError if ONNX does not support a layer.
    """
    from scalarviz.files.onnx.writing import save_model

    with Progress(0, true_or_false(progress, "progress"), "megabytes"):
        save_model(net, path)


def save_step(session: Session, path: object) -> None:
    """Save one training step of a session as an ONNX graph of standard operators.

    The network consists of dense and convolution layers, the loss is mse, sigmoid_cross_entropy or
    softmax_cross_entropy, and the optimizer is SGD or Adam.

    The inputs of the graph are "inputs" and "targets", a batch of any size with one row per sample,
    the state of training (parameters such as "0.weight", optimizer slots such as "0.weight m", and
    "steps") and "learning_rate". The outputs are "loss" and the updated state, such as
    "new 0.weight". The state and the learning rate default to their current values, so a program
    without support for gradients trains the network by passing outputs back as inputs. Node names
    describe the computation: "backward/affine 0/Gemm".

    Args:
        session: a Session of a Network; class labels must be passed to the graph as one-hot rows
        path: the file, .onnx

    Raises InputError for other layers, losses and optimizers, for frozen parameters, clipping,
    penalties and weights of samples; FileError if the file cannot be written.
    """
    from scalarviz.files.onnx.training_step import save_step_model

    save_step_model(session, path)
