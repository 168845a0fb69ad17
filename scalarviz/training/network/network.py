"""Network: a sequence of layers with forward, backward, zero_grad, step and an engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from scalarviz.base import leaf_calls
from scalarviz.base.checks import (
    FloatArray,
    answered,
    as_pairs,
    shorten,
    size,
    true_or_false,
    widened,
)
from scalarviz.base.progress import Progress
from scalarviz.core.bank import SCALING, Bank, Rows
from scalarviz.core.bank_arrays import copy_arrays, start_scaling
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.losses import AnyLoss, Loss
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.layers import Layer
from scalarviz.core.layers.nested import as_layers
from scalarviz.core.layers.parameters import (
    ParameterArray,
    Parameters,
    check_free,
    named_layers,
    own_parameters,
)
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Program
from scalarviz.core.weight import Weight
from scalarviz.engines.engine import Tell, take_steps
from scalarviz.engines.registry import FULL, EngineRow, choose
from scalarviz.training.network import model_queries
from scalarviz.training.network.model import Model
from scalarviz.training.network.model_queries import check_loss, checked_widths, network_table
from scalarviz.training.network.named_arrays import (
    LoadedKeys,
    arrays_of,
    copies_of,
    layer_at,
    load_arrays,
    rows_named,
    rows_of_part,
)

if TYPE_CHECKING:
    from scalarviz.core.layers import AnyLayer

# Other formats that `save` writes, by file extension.
WRITERS = dict.fromkeys((".npz", ".glsl", ".hlsl"), leaf_calls.export_network)
WRITERS[".onnx"] = leaf_calls.save_model


@final
class Network(Model):
    """A sequence of layers whose parameters are stored in one bank.

    `layers` is a list of sizes, such as [3, 8, 3], for Dense layers with `activation`, and `output`
    after the last one; or a list of layers; or a layer followed by sizes or layers. A layer may be
    listed twice; its weights are then shared, and their gradients add up.

    Calling the network only evaluates it; `forward` stores the data for `backward`, and each
    backward consumes the most recent unmatched forward.

    Args:
        layers: sizes, or Layers whose inputs and outputs match
        activation: activation of all layers except the last if `layers` are sizes, a name from
            core/formulas/activations.py; "linear" by default
        output: activation of the last layer if `layers` are sizes; "linear" by default
        init: initializer: a name, a function or an Init; "pytorch" by default
        seed: seed of the initial values, a non-negative integer; 0 by default
        dtype: "float32" (default) or "float64"
        engine: "python" (default), "cpu", "cuda" or "auto"; "auto" chooses the fastest available
            engine for small networks
        precision: "full" (default), "mixed" or a Precision; "mixed" requires the "cpu" engine

    Raises InputError if the layers do not fit together, UnknownNameError for an unknown name,
    OwnershipError for layers of another network, and EngineError if the engine is not available.

    >>> net = Network([2, 3, 1], seed=0)
    >>> net.forward([1.0, -1.0]).shape, len(net.parameters())
    ((1,), 13)
    """

    CALLED = "the network"

    follower: Callable[[FloatArray], None] | None = None  # see sv.follow
    _input_widths = Model.input_widths

    if TYPE_CHECKING:
        layers: tuple[AnyLayer, ...]

    @answered
    def __init__(
        self,
        layers: Sequence[int | Layer],
        activation: str | None = None,
        output: str | None = None,
        *,
        init: str | Init | Callable[..., Any] = "pytorch",
        seed: int = 0,
        dtype: str = "float32",
        engine: str = "python",
        precision: str | Precision = "full",
    ) -> None:
        chain = as_layers(layers, activation, output)
        precision = Precision.of(precision)
        row = choose(engine, precision=precision)
        self._begin(chain, Init.of(init), check_seed(seed), row, precision, dtype)

    def _begin(
        self,
        layers: tuple[Layer, ...],
        init: Init,
        seed: int,
        engine: EngineRow,
        precision: Precision,
        bank: str | Bank,
    ) -> None:
        """Set up the network on a bank of zeros, or on a new bank if `bank` is a dtype."""
        self.layers = layers  # type: ignore[assignment]  # any Layer can be an AnyLayer
        self.inputs, self.outputs = layers[0].inputs, layers[-1].outputs
        self.init, self.seed = init, seed
        self._parts = parts = list(dict.fromkeys(layers))  # each has its rows in the bank once
        for layer in parts:
            check_free(layer)
        rows, state = (sum(n) for n in zip(*[(p.size, p.state_size) for p in parts], strict=True))
        self._bank = bank if isinstance(bank, Bank) else Bank(rows, bank, state)
        self._bank.name_of = self._row_name
        row, state = 0, SCALING
        for layer in parts:
            layer.bind(self._bank, row, self.init, self.seed, state)
            row, state = row + layer.size, state + layer.state_size
        self.names: dict[str, Any] | None = None  # of its parts, in the original ONNX file
        engine.check(self._bank, precision, self.program)
        self._run_on(engine, precision)
        self._engine.instead = partial(model_queries.evaluate_on_auto, self)
        start_scaling(self._bank, precision)

    @property
    def input_widths(self) -> Mapping[str, int]:
        """Width of each named input, in order; raise InputError if the sum is wrong."""
        return dict(self._input_widths)

    @input_widths.setter
    def input_widths(self, widths: Mapping[str, int]) -> None:
        self._input_widths = checked_widths(widths, self.inputs)

    def _lowered(self) -> Program:
        program = Program(self.inputs)
        for program.layer, layer in enumerate(self.layers):
            layer.lower(program)
        return program

    @answered
    def train_step(
        self,
        inputs: object,
        targets: object,
        loss: AnyLoss = "mse",
        optimizer: Optimizer | str | None = None,
    ) -> float:
        """Train one step on one batch: zero_grad, forward, loss, backward, step.

        Args:
            inputs, targets, loss, optimizer: see `train`

        Returns the loss before the step. Raises ShapeError, NotFiniteError or GradientError.
        """
        return float(self._train(inputs, targets, loss, optimizer, 1)[0])

    @answered
    def train(
        self,
        inputs: object,
        targets: object,
        loss: AnyLoss = "mse",
        optimizer: Optimizer | str | None = None,
        *,
        steps: int,
        progress: bool = True,
    ) -> FloatArray:
        """Train `steps` steps on one batch; return the loss before each step.

        Ctrl-C ends training after the current step with `scalarviz.errors.Interrupted`, a
        KeyboardInterrupt. Raises GradientError if a gradient is not finite, and UpdateError if an
        updated weight is not finite; that step is not taken. The attribute `losses` of these errors
        contains the losses so far.

        Args:
            inputs: array of shape (batch, inputs), (inputs,) or (batch, *input_shape), or a dict of
                named inputs
            targets: array of shape (batch, outputs) or (outputs,); or (batch,) for one output, or
                for class labels 0, 1, ... with softmax_cross_entropy and sigmoid_cross_entropy
            loss: a name or a Loss; "mse" by default
            optimizer: an Optimizer or a name such as "adam"; SGD(0.01) by default
            steps: number of steps, at least 0
            progress: whether to show a progress bar in a terminal or notebook if training takes
                longer than a second; True by default

        Returns a float64 array of shape (steps,).
        """
        steps, wanted = size(steps, "steps", least=0), true_or_false(progress, "progress")
        with Progress(steps, wanted) as bar:
            return self._train(inputs, targets, loss, optimizer, steps, bar.tell)

    def _train(
        self,
        inputs: object,
        targets: object,
        loss: AnyLoss,
        optimizer: Optimizer | str | None,
        steps: int,
        tell: Tell | None = None,
    ) -> FloatArray:
        loss, optimizer = Loss.of(loss), Optimizer.of(optimizer).on(self._rows_named)
        check_loss(self, loss)
        widths, picture = (self.inputs, loss.targets(self.outputs)), self.input_shape
        inputs, classes = self.input_rows(inputs), loss.classes(self.outputs)
        batch, wanted = as_pairs(
            inputs, targets, widths, "the network", copy=False, classes=classes, picture=picture
        )
        if not steps:
            return np.zeros(0)
        engine = self._engine
        run = engine.take_run(batch, widened(wanted, self.outputs), loss)
        losses = take_steps(engine, run, optimizer, steps, tell)
        engine.keep_run(run)
        if self.follower is not None:
            self.follower(losses)
        return losses

    # Layers and parameters.

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.layers)

    @overload
    def __getitem__(self, index: int) -> AnyLayer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AnyLayer, ...]: ...
    def __getitem__(self, index: int | slice) -> AnyLayer | tuple[AnyLayer, ...]:
        """Return the layer at an index, or the layers in a slice, like `net.layers[index]`."""
        try:
            return self.layers[index]
        except (IndexError, TypeError):
            raise IndexError(
                f"the network has layers 0 to {len(self.layers) - 1}, and no {shorten(index)}"
            ) from None

    def __iter__(self) -> Iterator[AnyLayer]:
        return iter(self.layers)

    def parameters(self) -> Parameters:
        """Return all weights and biases as a sequence in the order of the bank."""
        return Parameters(len(self._bank), self.weight)

    def named_parameters(self) -> Iterator[tuple[str, ParameterArray]]:
        """Yield the name and the ParameterArray of each kernel and bias.

        Names are as in PyTorch: "0.weight" is the kernel of layer 0, and "3.1.bias" is the bias of
        layer 1 inside layer 3, which is a Residual. A layer that is used repeatedly is named after
        its first position.
        """
        for name, layer in named_layers(self.layers):
            for parameter in own_parameters(layer, f"{name}.").values():
                yield parameter.name, parameter

    def state_dict(self, like: object = None) -> dict[str, FloatArray]:
        """Return copies of kernels, biases and running statistics by name: "0.weight", "0.bias".

        Args:
            like: state dict of the same network in PyTorch, whose names are used; they differ
                because PyTorch also numbers activations. None (default) numbers the layers as in
                `layers`

        Raises InputError if the arrays of `like` do not match the network.
        """
        return copies_of(arrays_of(self.layers), like)

    def load_state_dict(self, state_dict: object, strict: bool = True) -> LoadedKeys:
        """Load arrays by name from a state dict of this class or of a PyTorch module.

        Args:
            state_dict: mapping from names to arrays or tensors. Names that differ from the names in
                `net.state_dict()` only in their numbers, such as "0.weight" and "2.weight", or
                "fc1.weight" and "fc2.weight", are matched in numerical order
            strict: True (default) requires that all names match; False loads the entries that match

        While a session trains the network, loading counts as an edit by the user. Returns the
        missing and unexpected names. If names or shapes do not fit, raises InputError and changes
        nothing.
        """
        strict, ours = true_or_false(strict, "strict"), arrays_of(self.layers)
        return load_arrays(ours, self._bank, state_dict, strict, self.layers)

    def weight(self, row: int) -> Weight:
        """Return the weight in a `row` of the bank: `net.weight(w.index) is w`."""
        layer = layer_at(self, row)
        return layer.weight(row - layer.first_row)

    def name_of(self, row: int) -> str:
        """Return the name of the weight in a `row` of the bank."""
        return self._bank.name_of(row)

    @property
    def rows(self) -> slice:
        return slice(0, len(self._bank))

    def _choose(self, engine: str, samples: int, precision: Precision) -> EngineRow:
        work = 3 * samples * self.program.products  # once forward, twice back
        return choose(engine, work, precision, self.program)

    def _ones(self) -> tuple[FloatArray, bool]:
        return np.ones((self._engine.newest_batch(), self.outputs)), False

    def find_rows(self, part: object) -> object:
        """Return the bank rows of `part`, a part of this network or a name; keep other objects."""
        return rows_of_part(self, part)

    def _rows_named(self, names: str | Sequence[str]) -> Rows:
        return rows_named(self, names)

    def _row_name(self, row: int) -> str:
        layer = layer_at(self, row)
        return f"layer {self.layers.index(layer)}, {layer.row_name(row - layer.first_row)}"

    # Copies and files.

    def fresh(self, seed: int, dtype: str | None = None, bank: Bank | None = None) -> Network:
        """Return an untrained copy with initial values drawn with a `seed`, on the "python" engine.

        Args:
            seed: a non-negative integer
            dtype: "float32" or "float64"; None (default) keeps the dtype
            bank: Bank of zeros to use; None (default) creates a new bank
        """
        twins = {layer: layer.again() for layer in self._parts}
        layers = tuple([twins[layer] for layer in self.layers])
        on, other = (dtype or self.dtype) if bank is None else bank, Network.__new__(Network)
        other._begin(layers, self.init, check_seed(seed), choose("python"), FULL, on)
        other.names, other.input_widths = self.names, self.input_widths
        return other

    def copy(self, dtype: str | None = None) -> Network:
        """Return a copy of the network with the same numbers, converted to `dtype` if given."""
        other = self.fresh(self.seed, dtype)
        if self.engine != other.engine or not self._engine.instead:
            other.to(self.engine, self.precision)
        copy_arrays(other.bank, self.bank)
        return other

    def save(self, path: object, *, progress: bool = True) -> None:
        """Save layers, numbers and optimizer slots to a file for `sv.load(path)`.

        Args:
            path: path of the .safetensors file; an existing file is replaced atomically. For other
                programs, the extension .onnx calls `sv.onnx.save`, and .npz, .glsl and .hlsl call
                `export`, which do not store optimizer slots
            progress: whether to show a progress bar in a terminal or notebook if writing takes
                longer than a second; True by default

        Raises InputError for an unsupported extension, and FileError if the file cannot be written.
        """
        name = os.fsdecode(path) if isinstance(path, (str, os.PathLike)) else ""
        write = WRITERS.get(os.path.splitext(name)[1].lower(), leaf_calls.save_network)
        with Progress(0, true_or_false(progress, "progress"), "megabytes"):
            write(self, path)

    def export(self, path: object, precision: str = "float32") -> None:
        """Export the network for other programs: a shader (.glsl, .hlsl) or arrays (.npz).

        Args:
            path: path of the file, whose extension determines the format
            precision: type of the weights, "float32" (default) or "float16"

        Raises InputError for another extension or a layer that shaders do not support, and
        FileError if the file cannot be written.
        """
        leaf_calls.export_network(self, path, precision)

    def to_torch(self) -> Any:
        """Convert the network to a PyTorch module; raise InputError if that is not possible."""
        return leaf_calls.network_to_torch(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copied or unpickled network, and let its bank take row names from it."""
        self.__dict__.update(state)
        if not isinstance(getattr(self._bank.name_of, "__self__", None), type(self)):
            self._bank.name_of = self._row_name

    def __repr__(self) -> str:
        return network_table(self)

    def _repr_html_(self) -> str:
        return leaf_calls.network_html(self)
