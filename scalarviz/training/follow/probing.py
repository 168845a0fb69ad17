"""Probing: what the modules of a PyTorch model compute for one sample, seen during its training.

The followed model itself runs once, in evaluation mode and without gradients. Afterwards its
modules, all tensors that the pass has written and the random generators are as before.

PyTorch is never imported here, as in sources.py.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, final

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.training.follow.observer import CONTAINERS, function_mode
from scalarviz.training.follow.record import Numbers
from scalarviz.training.follow.sources import as_array, flat_arrays
from scalarviz.training.follow.structure import (
    NAMES,
    names_by_id,
    observed_modules,
    storage_of,
    tensors_in,
)

MOST_MAPS, SIDE = 4, 27  # maps of a module, and the pixels of a side
MOST_HEADS, MOST_PLACES = 8, 64
MOST_OUTPUTS = 64
RESTORED = dict, OrderedDict, list, set  # attributes of a module whose contents are restored
# Arguments of scaled_dot_product_attention by position.
ATTENTION = "query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale"


# ---- the arguments -------------------------------------------------------------------------------


def checked_probe(probe: Any, models: Sequence[str]) -> Any:
    """Return a copy of the sample for which a model is run; raise InputError if invalid.

    Args:
        probe: a tensor or an array, a tuple of arguments, or a dict of keyword arguments
        models: names of several models, of which the probe is a dict of samples, or none
    """
    is_named = not models or (isinstance(probe, Mapping) and {*probe} <= {*models})
    require(is_named, f"the probe of several models is a dict by name, not {shorten(probe)}")
    if isinstance(probe, tuple) and len(probe) == 1:
        [probe] = probe
    if not isinstance(probe, (tuple, Mapping)):
        array = flat_arrays({"probe": probe}, "probe")["probe"].copy()
        require(np.isfinite(array).all(), f"a probe has finite numbers, unlike {shorten(probe)}")
        return array
    given = dict(probe) if isinstance(probe, Mapping) else probe
    tensors, torch = tensors_in(given), sys.modules["torch"]
    is_known = tensors and all(
        bool((each == each).all()) for each in tensors
    )  # a mask may have inf
    require(is_known, f"a probe has tensors without NaN, unlike {shorten(probe)}")
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: x.detach().clone(), given)


def arguments_of(torch: Any, sample: Any, parameter: Any) -> Any:
    """Return arguments and keyword arguments, on the device of a parameter."""
    if isinstance(sample, np.ndarray):
        tensor = torch.as_tensor(sample)
        sample = tensor.to(parameter.dtype) if tensor.is_floating_point() else tensor
    args = sample if isinstance(sample, tuple) else (sample,)
    sample = ((), sample) if isinstance(sample, Mapping) else (args, {})
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: x.to(parameter.device), sample)


# ---- the pass ------------------------------------------------------------------------------------


@final
class Probing:
    """Runs a model for one sample, and returns what its modules compute.

    Args:
        model: a PyTorch module with parameters, or a ModuleDict of models
        sample: the sample, as in `checked_probe`; for a ModuleDict, a dict of them by model

    Attributes:
        next: wall time of the next pass
        price: seconds that a pass costs; `spent`: seconds of all passes
    """

    def __init__(self, model: Any, sample: Any) -> None:
        self.next = self.price = self.spent = 0.0
        self._model, self._sample = model, sample

    def take(self) -> tuple[bytes, Numbers, Numbers]:
        """Run the model; return the shapes and the numbers, as a record has them.

        Raises any error of the model, which is then as before.
        """
        torch, model, group = sys.modules["torch"], self._model, sys.modules["torch"].distributed
        is_one_of = group.is_available() and group.is_initialized() and group.get_world_size() > 1
        require(not is_one_of, "the model may need all processes of the training")
        is_many, first = type(model).__name__ in CONTAINERS, next(model.parameters())
        samples = self._sample if is_many else {"": self._sample}
        given = {name: arguments_of(torch, each, first) for name, each in samples.items()}
        seen = ModuleNumbers(torch, model)
        with unchanged(torch, model, tensors_in(given)), ExitStack() as hooks:
            plain = (
                x for x in observed_modules(model) if not isinstance(x, torch.jit.ScriptModule)
            )
            for each in plain:  # the others have no hooks
                hooks.enter_context(each.register_forward_pre_hook(seen.before))
                hooks.enter_context(each.register_forward_hook(seen.after))
            hooks.enter_context(function_mode(seen.call))
            for name, (args, kwargs) in given.items():
                seen.add_output(name, (model[name] if is_many else model)(*args, **kwargs))
        return packed(seen.rows)


@contextmanager
def unchanged(torch: Any, model: Any, given: Sequence[Any]) -> Iterator[None]:
    """Return a context in which a model evaluates, and which leaves it as it was.

    Restored are the attributes of the modules, and the lists, dicts and sets in them; the contents
    of their tensors, and of the arguments `given`; and the random generators.
    """
    modules = [*model.modules()]
    things = [thing for each in modules for thing in (vars(each), *vars(each).values())]
    tensors = [*model.parameters(), *model.buffers(), *given]
    tensors += [each for each in things if isinstance(each, torch.Tensor)]
    kinds = {each.device.type for each in tensors} - {"meta"}
    with ExitStack() as stack:
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        stack.callback(np.random.set_state, np.random.get_state())
        stack.callback(random.setstate, random.getstate())
        for device in {each.device for each in tensors if each.device.type not in ("cpu", "meta")}:
            kind, where = getattr(torch, device.type), [device] * (device.type != "mps")
            stack.callback(kind.set_rng_state, kind.get_rng_state(*where), *where)
        for thing in things:
            if type(thing) in RESTORED:
                stack.callback(refill, thing, thing.copy())
        for each in tensors:
            stack.callback(setattr, each, "data", each.data)
        for each in modules:
            stack.callback(setattr, each, "training", each.training)
            each.training = False
        if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for kind in kinds | {"cpu"}:
            stack.enter_context(torch.autocast(kind, enabled=False))
        stack.enter_context(torch.no_grad())
        written = stack.enter_context(ExitStack())
        stack.enter_context(write_mode({*map(storage_of, tensors)}, written))
        yield


def refill(thing: Any, before: Any) -> None:
    """Restore the contents of a dict, a list or a set."""
    thing.clear()
    (thing.extend if isinstance(thing, list) else thing.update)(before)


def write_mode(storages: set[int], stack: ExitStack) -> Any:
    """Return a context in which a tensor that is written is restored at the end of `stack`.

    Args:
        storages: identities of the storages whose tensors are restored
    """
    dispatch: Any = sys.modules["torch.utils._python_dispatch"]

    class Mode(dispatch.TorchDispatchMode):  # type: ignore[misc]
        _should_skip_dynamo = classmethod(lambda cls: False)  # else it is imported, in seconds

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            if function._schema.is_mutable:
                places = function._schema.arguments
                given = {x.name: each for x, each in zip(places, args, strict=False)} | kwargs
                written = [x.name for x in places if x.alias_info and x.alias_info.is_write]
                for each in tensors_in([given.get(name) for name in written]):
                    if storage_of(each) in storages:
                        stack.callback(each.copy_, each.clone())
            return function(*args, **kwargs)

    return Mode()


@final
class ModuleNumbers:
    """What the modules of a model compute in one pass.

    Attributes:
        rows: arrays by the path of a module, and by "numbers", "maps", "attention" and "output"
    """

    def __init__(self, torch: Any, model: Any) -> None:
        self.rows = defaultdict[str, dict[str, Numbers]](dict)
        self._torch = torch
        self._paths = names_by_id(model.named_modules(remove_duplicate=False))
        self._running = [""]  # paths of modules
        self._shares: Any = None  # the last result of a softmax, and in which module

    def before(self, module: Any, args: Any) -> None:
        """Hook called before a module."""
        self._running.append(self._paths[id(module)][0])

    def after(self, module: Any, args: Any, output: Any) -> None:
        """Hook called after a module."""
        row, tensor = self.rows[self._running.pop()], measurable(output)
        off = self._torch._C  # the modes, for the calls below
        with off.DisableTorchFunction(), off._DisableTorchDispatch():
            if tensor is not None:
                numbers = tensor.float()
                mean = numbers.mean()
                spread = (numbers - mean).square().mean().sqrt()  # std is slower
                zeros = 1.0 - self._torch.count_nonzero(numbers) / numbers.numel()
                row["numbers"] = as_array(self._torch.stack([mean, spread, zeros]))
            if tensor is not None and tensor.dim() == 4 and max(tensor.shape[2:]) > 1:
                chosen = tensor[0][even(tensor.shape[1], MOST_MAPS)].float()
                smaller = max(1.0, max(chosen.shape[1:]) / SIDE)
                size = [max(1, round(side / smaller)) for side in chosen.shape[1:]]
                row["maps"] = as_array(self._torch.nn.functional.adaptive_avg_pool2d(chosen, size))

    def add_output(self, path: str, output: Any) -> None:
        """Add numbers that a model returns: the last axis, at its last place."""
        tensor = measurable(output)
        if tensor is not None:
            last = tensor[0] if tensor.dim() > 1 else tensor
            last = last.reshape(-1, last.shape[-1] if last.dim() else 1)[-1]
            self.rows[path]["output"] = as_array(last[even(len(last), MOST_OUTPUTS)].float())

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function of PyTorch, and see whether it computes attention."""
        name, path = getattr(function, "__name__", ""), self._running[-1]
        if name == "multi_head_attention_forward":
            wants = kwargs.get("need_weights", True), kwargs.get("average_attn_weights", True)
            result, weights = function(
                *args, **{**kwargs, "need_weights": True, "average_attn_weights": False}
            )
            self._attend(path, weights @ self._cells(weights.shape[-1], weights))
            weights = weights.mean(-3) if wants[1] else weights
            return result, weights if wants[0] else None
        result = function(*args, **kwargs)
        if name == "scaled_dot_product_attention":
            given = {**dict(zip(ATTENTION, args, strict=False)), **kwargs, "dropout_p": 0.0}
            *before, count, _ = given["key"].shape
            query, most = given["query"], min(count, MOST_PLACES)
            cells = self._cells(count, query, query.shape[-1])  # as values: the sums of weights
            given["value"] = cells.expand(*before, *cells.shape)
            self._attend(path, function(**given)[..., :most])
        elif name == "softmax" and result.dim() > 2:
            axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
            if axis in (-1, result.dim() - 1):
                self._shares = path, result
        elif NAMES.get(name) == "@" and self._shares is not None:
            path, shares = self._shares
            if any(storage_of(each) == storage_of(shares) for each in tensors_in(args)):
                self._attend(path, shares @ self._cells(shares.shape[-1], shares))
                self._shares = None
        return result

    def _cells(self, count: int, like: Any, least: int = 0) -> Any:
        """Return the matrix that adds adjacent keys, so that 64 are left; it has `least` columns.

        With the columns of a head, it can be the values of a fused function.
        """
        cells = self._torch.arange(count, device=like.device) * MOST_PLACES
        wide, one_hot = max(least, min(count, MOST_PLACES)), self._torch.nn.functional.one_hot
        return one_hot(cells // max(count, MOST_PLACES), wide).to(like.dtype)

    def _attend(self, path: str, weights: Any) -> None:
        """Keep attention weights; the last three axes are heads, queries and keys."""
        weights = weights[0] if weights.dim() == 4 else weights
        weights = weights.reshape(-1, *weights.shape[-2:])
        heads, queries = even(len(weights), MOST_HEADS), even(weights.shape[1], MOST_PLACES)
        self.rows[path]["attention"] = as_array(weights[heads][:, queries].float())


def measurable(output: Any) -> Any:
    """Return the first tensor of a result whose numbers can be averaged, or None."""
    plain = (x for x in tensors_in(output) if str(x.layout) == "torch.strided" and x.numel())
    odd = "is_nested", "is_quantized"
    real = (x for x in plain if not (x.is_complex() or any(getattr(x, name) for name in odd)))
    return next((each.detach() for each in real), None)


def even(count: int, most: int) -> list[int]:
    """Return at most `most` evenly chosen indices of `count`."""
    return [round(x) for x in np.linspace(0, count - 1, min(count, most)).tolist()]


# ---- in the record -------------------------------------------------------------------------------


def packed(rows: Mapping[str, Mapping[str, Numbers]]) -> tuple[bytes, Numbers, Numbers]:
    """Return the shapes and the numbers of a pass, as a record has them.

    Maps are divided by their largest number, so that float16 can hold them.
    """
    shapes, numbers, small, empty = [], [np.zeros(0)], [np.zeros(0)], np.zeros(0)
    for path, row in rows.items():
        maps, attention, output = (row.get(x, empty) for x in ("maps", "attention", "output"))
        scale = np.max(np.abs(maps), where=np.isfinite(maps), initial=0.0) or 1.0
        numbers += [row.get("numbers", np.full(3, np.nan)), np.array([scale]), output]
        small += [(maps / scale).ravel(), attention.ravel()]
        sizes = {x: [*row[x].shape] if x in row else [] for x in ("maps", "attention")}
        shapes.append({"path": path, **sizes, "output": len(output)})
    form = zlib.compress(json.dumps(shapes).encode())
    return form, np.concatenate(numbers).astype("<f4"), np.concatenate(small).astype("<f2")
