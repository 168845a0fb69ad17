"""Import and export of ONNX files; needs the extra `onnx`.

    net = sv.onnx.load("model.onnx", train=["fc2"])
    sv.onnx.save(net, "retrained.onnx")

A file is read in these steps, one module each:

    onnx_graph  its nodes and tensors, as plain data; weighed before they are parsed
    fusions     nodes that form one layer, such as MatMul and Add
    operators   OPERATORS: how each operator is read; one row each
    flows       what operators make: values, as the steps that lead to them
    reading     the layers from input to output, and the network of them

`writing` writes the nodes of a network; WRITERS: how each layer is written. `training_step` writes
a whole step of a training: how each operation is written, forward and back.
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
    """Load the network in an ONNX file, ready to be trained.

    Several inputs are side by side in a row; `net.input_widths` has their names.

    Args:
        path: the file, .onnx; a second file with its numbers is read beside it
        train: which parameters are trained, the others being frozen: their names in the file,
            beginnings of names up to a separator ("fc2"), or patterns ("conv*.weight"); None: all
            that are not in `freeze`
        freeze: which are frozen, the others being trained; with both, every parameter belongs to
            one
        dtype: "float32", the default, or "float64" for a model of that type
        output: which value of the graph to compute, where it has several outputs; None: the one
            with numbers, such as the probabilities of a classifier beside its labels
        limit: bytes that the file, its numbers and the network made of it may take each; None: 640
            MB, and 4,096 nodes, which grow with it

    The error lists all operators that scalarviz has no layer for, before anything is built.

    Raises:
        FileError: for a file that is damaged or too large.
        InputError: for operators without a layer.
    """
    from scalarviz.files.onnx.reading import load_model

    return load_model(path, train, freeze, dtype, output, limit)


def save(net: Network, path: object, *, progress: bool = True) -> None:
    """Write a network as an ONNX model, with the names that it was loaded with.

    Args:
        net: any Network, whose dtype is kept, as are the inputs of `net.input_widths`
        path: the file, .onnx
        progress: True, the default: a progress bar in a terminal or a notebook, if writing takes
            longer than a second; False: none

    Few programs compute convolutions in float64: save `net.copy("float32")` for them. Raises
    FileError if the file cannot be written, and InputError for layers that ONNX lacks.
    """
    from scalarviz.files.onnx.writing import save_model

    with Progress(0, true_or_false(progress, "progress"), "megabytes"):
        save_model(net, path)


def save_step(session: Session, path: object) -> None:
    """Write one training step of a session as an ONNX graph of plain operators.

    The graph takes "inputs" and "targets", a batch of any size with one row a sample, and gives
    "loss" and what the step makes of everything that it changes: "new 0.weight" of "0.weight", and
    so on of the optimizer's slots such as "0.weight m", of running statistics, and of "steps".
    These inputs, and "learning_rate", have the numbers of now where they are not given, so that a
    program that knows nothing of gradients trains the network by handing back what it got. Nodes
    are named after what they compute: "backward/affine 0/Gemm".

    Args:
        session: a Session of a Network; targets of labels are rows with a 1 in the place of the
            class
        path: the file, .onnx

    What is drawn at random, dropout, a part of an array that is frozen, and `clip_norm` are refused
    with InputError, as formulas of your own that have no such operators. Raises FileError if the
    file cannot be written.
    """
    from scalarviz.files.onnx.training_step import save_step_model

    save_step_model(session, path)
