"""Sources that can be followed: a PyTorch module, a dict of arrays, or a Network.

PyTorch is never imported here; a caller that passes a module has already imported it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, nan, prod, sqrt
from typing import Any, final

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.errors import InputError
from scalarviz.training.follow.record import Numbers
from scalarviz.training.follow.structure import names_by_id
from scalarviz.training.network.torch_layers import described, unwrapped

WHOLE = 1, 1
MOST_WHOLE = 1_000_000  # parameters in a complete recorded step; larger models have CHOSEN
MOST_EXPLAINED = 100_000  # for up to this number also the weights before the step, and the slots
LOWEST = 8  # largest ratio of columns to rows in a page
CHOSEN, FEWEST = 10_000, 8  # numbers of a page, minimum rows or columns of an array
# Slots by our names, and PyTorch's.
SLOTS = {"m": "exp_avg", "v": "exp_avg_sq", "velocity": "momentum_buffer"}
SETTINGS = (
    "momentum",
    "dampening",
    "nesterov",
    "weight_decay",
    "betas",
    "eps",
    "amsgrad",
    "maximize",
)


@dataclass(frozen=True)
class Array:
    """An array of a model, and which part of it is recorded.

    Attributes:
        name: name of the array, as in `state_dict`
        shape: shape of the array in the model
        module: name of the module that contains it; `kind`: class name of the module
        is_buffer: whether it is a buffer, such as a running mean, and not a parameter
        frozen: whether training steps leave the array unchanged
        also: other names of the same array, for tied weights
        pick: strides (r, c): every r-th row and every c-th column is recorded, where the columns
            are all axes except the first, flattened
        first: index of the array's first number in a page
    """

    name: str
    shape: tuple[int, ...]
    module: str = ""
    kind: str = ""
    is_buffer: bool = False
    frozen: bool = False
    also: tuple[str, ...] = ()
    pick: tuple[int, ...] = WHOLE
    first: int = 0

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Shape of the recorded part."""
        if self.pick == WHOLE:
            return self.shape
        rows, columns = prod(self.shape[:1]), prod(self.shape[1:])
        return ceil(rows / self.pick[0]), ceil(columns / self.pick[1])

    @cached_property
    def numbers(self) -> slice:
        """Indices of the array's numbers in a page."""
        return slice(self.first, self.first + prod(self.kept))

    @property
    def has_units(self) -> bool:
        """Whether the rows of the array are units of a layer."""
        return len(self.shape) > 1 and not self.is_buffer and self.kind != "Embedding"

    @property
    def is_norm(self) -> bool:
        """Whether it is a factor or a bias of a normalization, with a number for each unit."""
        return len(self.shape) == 1 and not self.is_buffer and "norm" in self.kind.lower()


def placed(arrays: Iterable[Array]) -> list[Array]:
    """Return copies of arrays at consecutive positions in a page."""
    found: list[Array] = []
    for array in arrays:
        first = found[-1].numbers.stop if found else 0
        found.append(replace(array, first=first))
    return found


def numbers_in(arrays: Iterable[Array]) -> int:
    """Return the total number of elements of arrays."""
    return sum(prod(each.shape) for each in arrays)


def chosen(arrays: Sequence[Array]) -> list[Array]:
    """Choose the recorded part of each array, and its position in a page.

    A page contains all numbers of a model with up to MOST_WHOLE parameters, and about CHOSEN
    numbers of a larger one. The axes of all arrays are reduced by the same factor, so that the
    columns of a layer match the rows of the previous layer.
    """
    total = numbers_in(arrays)
    if total <= MOST_WHOLE:
        return placed(arrays)
    picks = [pick_of(each.shape, sqrt(CHOSEN / total)) for each in arrays]
    downs: dict[Any, int] = {  # of matrices, so that a bias has the rows of its matrix
        (array.module, array.shape[0]): pick[0]
        for array, pick in zip(arrays, picks, strict=True)
        if len(array.shape) > 1
    }
    return placed([
        replace(array, pick=(downs.get((array.module, *array.shape), pick[0]), pick[1]))
        for array, pick in zip(arrays, picks, strict=True)
    ])  # fmt: skip


def pick_of(shape: Sequence[int], share: float) -> tuple[int, int]:
    """Return the strides of recorded rows and columns; wide, flat arrays keep more rows."""
    rows, columns = prod(shape[:1]), prod(shape[1:])
    high, wide = (max(1, min(n, FEWEST), round(n * share)) for n in (rows, columns))
    if wide > LOWEST * high and high < rows:
        high, wide = min(rows, round(sqrt(high * wide))), max(1, round(sqrt(high * wide)))
    return ceil(rows / max(1, high)), ceil(columns / wide)


# Sources. Both kinds have
#
#     title     name of the kind of model, or ""
#     arrays    arrays of the model
#     modules   name, kind and settings of each module with arrays or without inner modules
#     is_chain  whether each module reads the output of the previous one
#     dtype     "float32" or "float64"
#     explains  whether the numbers before a step are known
#     used      optimizers with observed steps, in the order of their first steps
#     is_crowded  whether the training leaves less than two cores, for the viewer and the screen
#     is_lazy   whether it has arrays without a shape yet
#     frozen    whether each array is frozen, or False
#
# and methods that return its current numbers.


@final
class TorchSource:
    """The parameters of a PyTorch module, and the state of its optimizers."""

    def __init__(self, model: Any) -> None:
        self.model = model = unwrapped(model)
        self.explains, self.title = True, type(model).__name__
        self.used: list[Any] = []
        threads: int = sys.modules["torch"].get_num_threads()
        self.is_crowded = threads + 1 >= (os.cpu_count() or 1)
        self.read()

    def read(self) -> None:
        """Read the parameters and buffers, except lazy ones that have no shape yet."""
        names = names_by_id(self.model.named_parameters(remove_duplicate=False))
        self._forms = forms_of(self.model.named_parameters(remove_duplicate=False))
        self.is_lazy = any(shape is None for _, shape in self._forms.values())
        parameters = {
            name: each for name, each in self.model.named_parameters() if not is_lazy(each)
        }
        saved = self.model.state_dict(keep_vars=True)
        buffers = {
            name: each
            for name, each in self.model.named_buffers()
            if name in saved and not is_lazy(each) and each.is_floating_point()
        }
        self._buffers = forms_of(buffers.items())
        self.tensors = [*parameters.values(), *buffers.values()]
        self.places = {id(each): i for i, each in enumerate(parameters.values())}
        modules = dict(self.model.named_modules(remove_duplicate=False))  # one ReLU used twice
        self.arrays = [
            Array(
                name,
                tuple(each.shape),
                home := name.rpartition(".")[0],
                type(modules[home]).__name__,
                name in buffers,
                not each.requires_grad,
                tuple(names.get(id(each), [])[1:]),
            )
            for name, each in {**parameters, **buffers}.items()
        ]
        leaves = {name: each for name, each in modules.items() if not [*each.children()]}
        holders = {each.module for each in self.arrays} | {*leaves}
        self.modules = [
            {"name": name, "kind": type(each).__name__, "settings": described(each)}
            for name, each in modules.items()
            if name in holders
        ]
        self.is_chain = all(
            type(each).__name__ == "Sequential"
            for name, each in modules.items()
            if name not in leaves
        )
        self.dtype = dtype_of(self.tensors)

    def look(self) -> list[str]:
        """Update the arrays if tensors have been replaced; return the names of changed parameters.

        A parameter counts as changed if it was added or removed, or is a tensor of another identity
        or shape.
        """
        before, now = self._forms, forms_of(self.model.named_parameters(remove_duplicate=False))
        if before == now and self._buffers.items() <= forms_of(self.model.named_buffers()).items():
            return []
        self.read()
        return [name for name in {**before, **now} if before.get(name) != now.get(name)]

    def takes(self, optimizer: Any) -> bool:
        """Return whether an optimizer updates parameters of this model."""
        return any(id(each) in self.places for each in parameters_of(optimizer))

    def values(self) -> Sequence[Any]:
        """Return the current tensor of each array."""
        return self.tensors

    def learned(self) -> Sequence[Any]:
        """Return the parameters of the model and of its optimizers that get gradients."""
        others = [x for each in self.used for x in parameters_of(each) if id(x) not in self.places]
        return [x for x in (*self.tensors[: len(self.places)], *others) if x.requires_grad]

    @property
    def frozen(self) -> Sequence[bool]:
        """Whether each array is a parameter without gradients at present."""
        count = len(self.places)
        return [i < count and not each.requires_grad for i, each in enumerate(self.tensors)]

    def gradients(self) -> Sequence[Any]:
        """Return the gradient of each array, None for arrays without a gradient."""
        return [each.grad for each in self.tensors]

    def slots(self) -> Mapping[str, Sequence[Any]]:
        """Return, for each optimizer slot, the state of each array, or None for missing state."""
        states: list[Mapping[str, Any]] = [
            next(filter(None, (each.state.get(tensor) for each in self.used)), {})
            for tensor in self.tensors
        ]
        return {slot: [each.get(SLOTS[slot]) for each in states] for slot in slots_of(self.used)}

    def rates(self, optimizer: Any) -> Numbers:
        """Return learning rate, step count and optimizer index of each array, shape (arrays, 3).

        A rate is NaN if it is unknown. All three numbers are NaN for arrays that the optimizer does
        not update.
        """
        found, number = np.full((len(self.tensors), 3), np.nan), self.used.index(optimizer)
        for group in optimizer.param_groups:
            for each in group["params"]:
                place = self.places.get(id(each))
                if place is not None and each.grad is not None:
                    count = optimizer.state.get(each, {}).get("step", 0.0)
                    found[place] = number_of(group.get("lr")), number_of(count), number
        return found


def dtype_of(tensors: Iterable[Any]) -> str:
    """Return the dtype of a page that can hold the numbers of these arrays or tensors."""
    return "float64" if any("float64" in str(each.dtype) for each in tensors) else "float32"


def is_lazy(tensor: Any) -> bool:
    """Return whether a tensor belongs to a lazy module and has no shape yet."""
    return hasattr(tensor, "materialize")


def forms_of(named: Iterable[tuple[str, Any]]) -> dict[str, tuple[int, Any]]:
    """Return the identity and shape of each tensor by name; the shape of a lazy one is None."""
    return {name: (id(each), None if is_lazy(each) else each.shape) for name, each in named}


def parameters_of(optimizer: Any) -> list[Any]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def kind_of(optimizer: Any) -> str:
    """Return the class name of an optimizer, prefixed with "custom" if not from PyTorch."""
    name = type(optimizer).__name__
    is_known = type(optimizer) is getattr(sys.modules["torch"].optim, name, None)
    return name if is_known else f"custom {name}"


def slots_of(used: Iterable[Any]) -> list[str]:
    """Return the names of the slots that optimizers use, even before their first step."""
    kinds = {kind_of(each) for each in used}
    groups = [group for each in used if kind_of(each) == "SGD" for group in each.param_groups]
    has_velocity = any(each["momentum"] for each in groups)
    return [*("m", "v") * bool(kinds & {"Adam", "AdamW"}), *("velocity",) * has_velocity]


def optimizers_of(used: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the kind and the settings of each optimizer."""
    return [
        {
            "kind": kind_of(each),
            "settings": {
                name: each.param_groups[0][name]
                for name in SETTINGS
                if isinstance(each.param_groups[0].get(name), (int, float, tuple))
            },
        }
        for each in used
    ]


def number_of(given: Any) -> float:
    """Convert a setting of an optimizer to a float; NaN if it is not a number."""
    with suppress(TypeError, ValueError, RuntimeError):
        return float(given)
    return nan


def is_module(model: object) -> bool:
    """Return whether an object is a PyTorch module."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


@final
class ArraySource:
    """A source of named arrays and gradients, whose optimizer is unknown."""

    is_chain = explains = is_lazy = frozen = False
    is_crowded = True  # as far as is known
    title, used = "", ()

    def __init__(self, arrays: Mapping[str, Numbers], gradients: Mapping[str, Numbers]) -> None:
        self._given, self._gradients = arrays, gradients
        homes = {name: name.rpartition("/")[0] or name.rpartition(".")[0] for name in arrays}
        self.arrays = [Array(name, each.shape, homes[name]) for name, each in arrays.items()]
        names = dict.fromkeys(homes.values())
        self.modules = [{"name": name, "kind": "", "settings": {}} for name in names]
        self.dtype = dtype_of(arrays.values())

    def take(self, arrays: Mapping[str, Numbers], gradients: Mapping[str, Numbers]) -> None:
        """Store the arrays of a step; raise InputError if their names or shapes have changed."""
        shapes = {each.name: each.shape for each in self.arrays}
        for given in (arrays, {**arrays, **gradients}):
            if {name: each.shape for name, each in given.items()} != shapes:
                raise InputError(
                    "names and shapes of arrays and gradients must match the first step, "
                    f"{shorten(shapes)}"
                )
        self._given, self._gradients = arrays, gradients

    def values(self) -> Sequence[Any]:
        return [*self._given.values()]

    def gradients(self) -> Sequence[Any]:
        return [self._gradients.get(each.name) for each in self.arrays]


Source = TorchSource | ArraySource


def flat_arrays(given: object, what: str, prefix: str = "") -> dict[str, Numbers]:
    """Flatten a possibly nested dict of arrays to names such as "dense/kernel"."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"{what} are arrays by name, such as {{'dense/kernel': array}}, not {shorten(given)}"
        )
    found: dict[str, Numbers] = {}
    for name, each in given.items():
        if isinstance(each, Mapping):
            found |= flat_arrays(each, what, f"{prefix}{name}/")
            continue
        detach = getattr(each, "detach", None)
        array = np.asarray(as_array(detach()) if callable(detach) else each)
        if array.dtype.kind not in "fiu":
            array = with_floats(array, f"{prefix}{name}")
        found[f"{prefix}{name}"] = array
    return found


def with_floats(array: Numbers, name: str) -> Numbers:
    """Convert an array of floats, also of a type unknown to numpy; raise InputError for others."""
    with suppress(TypeError, ValueError):
        return array.astype(np.float32)
    raise InputError(f"{shorten(name)} is an array of {array.dtype}: pass numbers")


def read_into(target: Numbers, given: Sequence[Any], arrays: Sequence[Array]) -> list[bool]:
    """Copy arrays or tensors to their positions in a page; return which of them have numbers.

    Missing numbers are set to 0, for example for a parameter without a gradient or on the device
    "meta".
    """
    found = []
    for each, array in zip(given, arrays, strict=True):
        part = target[array.numbers]
        found.append(each is not None and read_one(part, each, array.pick))
        if not found[-1]:
            part[...] = 0.0
    return found


def read_one(part: Numbers, tensor: Any, pick: tuple[int, ...]) -> bool:
    """Copy the recorded part of one array; return False if the array has no numbers."""
    is_array = isinstance(tensor, np.ndarray)
    tensor = tensor if is_array else tensor.detach()
    if pick != WHOLE:
        tensor = tensor.reshape(tensor.shape[0] if tensor.ndim else 1, -1)[:: pick[0], :: pick[1]]
    try:
        part[...] = (tensor if is_array else as_array(tensor)).reshape(-1)
    except (NotImplementedError, RuntimeError, ValueError, TypeError):  # of the device "meta"
        return False
    return True


def norm_of(gradient: Any, part: Numbers, array: Array) -> float:
    """Return the norm of a gradient, given its recorded part; 0 if it has no numbers."""
    if array.pick == WHOLE or gradient is None:
        return float(np.linalg.norm(part))
    if isinstance(gradient, np.ndarray):
        return float(np.linalg.norm(gradient))
    with suppress(NotImplementedError, RuntimeError):  # of the device "meta"
        torch: Any = sys.modules["torch"]
        kind = torch.float64 if "float64" in str(gradient.dtype) else torch.float32
        return float(torch.linalg.vector_norm(gradient.detach(), dtype=kind))
    return 0.0


def as_array(tensor: Any) -> Numbers:
    """Convert a tensor to an array, waiting for its device."""
    if getattr(tensor, "is_sparse", False):
        tensor = tensor.to_dense()
    tensor = tensor.cpu()
    if tensor.is_floating_point() and tensor.element_size() < 4:  # numpy has no bfloat16
        tensor = tensor.float()
    return np.asarray(tensor.numpy())
