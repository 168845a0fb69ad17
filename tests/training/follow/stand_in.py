"""A stand-in for what `sv.follow` uses of PyTorch: modules, tensors on numpy, optimizers with hooks.

Gradients are set by hand; test_torch_table.py compares it with PyTorch.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np


class Type(NamedTuple):
    """A type of numbers, and that of numpy which holds them."""

    name: str
    numbers: Any


float32, float64 = Type("torch.float32", np.float32), Type("torch.float64", np.float64)
bfloat16, int64 = Type("torch.bfloat16", np.float32), Type("torch.int64", np.int64)


class Tensor:
    """Numbers on a device; those of the device "meta" cannot be read."""

    is_sparse = False

    def __init__(self, numbers: Any, dtype: Any = float32, device: str = "cpu") -> None:
        self.numbers = np.array(numbers, dtype.numbers)
        self.dtype, self.device = dtype, SimpleNamespace(type=device)
        self.requires_grad, self.grad = False, None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    @property
    def ndim(self) -> int:
        return self.numbers.ndim

    def over(self, numbers: Any) -> Tensor:
        """Return a tensor that shares these numbers."""
        found = Tensor(0, self.dtype, self.device.type)
        found.numbers = numbers
        return found

    def detach(self) -> Tensor:
        return self.over(self.numbers)

    def cpu(self) -> Tensor:
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self

    def numpy(self) -> Any:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype is bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.numbers

    def reshape(self, *shape: int) -> Tensor:
        return self.over(self.numbers.reshape(*shape))

    def __getitem__(self, rows: Any) -> Tensor:
        return self.over(self.numbers[rows])

    def item(self) -> Any:
        if self.numbers.size != 1:
            raise RuntimeError("a Tensor with several elements cannot be converted to Scalar")
        return self.numbers.item()

    def __float__(self) -> float:
        return float(self.item())

    def float(self) -> Tensor:
        return Tensor(self.numbers)

    def is_floating_point(self) -> bool:
        return self.dtype is not int64

    def element_size(self) -> int:
        return 2 if self.dtype is bfloat16 else self.numbers.itemsize


def tensor(numbers: Any, dtype: Any = float32, device: str = "cpu") -> Tensor:
    return Tensor(numbers, dtype, device)


class Parameter(Tensor):
    """A tensor that optimizers move."""

    def __init__(self, given: Tensor, requires_grad: bool = True) -> None:
        super().__init__(given.numbers, given.dtype, given.device.type)
        self.requires_grad = requires_grad


class Module:
    """A module; what is assigned to it is registered as in PyTorch."""

    def __init__(self) -> None:
        self._parameters: dict[str, Parameter] = {}
        self._buffers: dict[str, tuple[Tensor, bool]] = {}
        self._modules: dict[str, Module] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        for kind, known in ((Parameter, "_parameters"), (Module, "_modules")):
            if isinstance(value, kind):
                getattr(self, known)[name] = value

    def register_buffer(self, name: str, value: Tensor, persistent: bool = True) -> None:
        self._buffers[name] = value, persistent

    def named_children(self) -> Iterable[tuple[str, Module]]:
        return self._modules.items()

    def children(self) -> Iterable[Module]:
        return self._modules.values()

    def named_modules(
        self, prefix: str = "", remove_duplicate: bool = True, seen: Any = None
    ) -> Iterator[tuple[str, Module]]:
        seen = set() if seen is None else seen
        if self not in seen:
            yield prefix, self
        seen |= {self} if remove_duplicate else set()
        for name, each in self._modules.items():
            yield from each.named_modules(f"{prefix}.{name}".lstrip("."), remove_duplicate, seen)

    def _named(self, kind: str, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for prefix, module in self.named_modules():
            for name, each in getattr(module, kind).items():
                if not remove_duplicate or id(each) not in seen:
                    seen.add(id(each))
                    yield f"{prefix}.{name}".lstrip("."), each

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        return self._named("_parameters", remove_duplicate)

    def parameters(self) -> Iterator[Parameter]:
        return (each for _, each in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return ((name, each) for name, (each, _) in self._named("_buffers"))

    def state_dict(self, *, keep_vars: bool = False) -> dict[str, Tensor]:
        saved = {name: each for name, (each, lasts) in self._named("_buffers") if lasts}
        return dict(self.named_parameters(remove_duplicate=False)) | saved


class Linear(Module):
    """A matrix and a bias, drawn from a seed."""

    def __init__(self, inputs: int, outputs: int, seed: int = 0) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        self.weight = Parameter(Tensor(rng.normal(size=(outputs, inputs))))
        self.bias = Parameter(Tensor(rng.normal(size=outputs)))


class Sequential(Module):
    """Modules in a row."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for place, each in enumerate(modules):
            setattr(self, str(place), each)


class ReLU(Module):
    """A module without parameters."""


Hook = Callable[[Any, Any, Any], object]
PRE: dict[int, Hook] = {}
POST: dict[int, Hook] = {}


def register(hooks: dict[int, Hook], hook: Hook) -> SimpleNamespace:
    """Add a hook; return a handle that removes it."""
    number = max(hooks, default=0) + 1
    hooks[number] = hook
    return SimpleNamespace(remove=lambda: hooks.pop(number, None))


class Optimizer:
    """Groups of parameters, and its numbers for each; a step has hooks around it."""

    defaults: dict[str, Any] = {}

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, **settings: Any) -> None:
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._settings = {"lr": lr, **self.defaults, **settings}
        given = [*params]
        for each in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(each)

    def add_param_group(self, group: dict[str, Any]) -> None:
        self.param_groups.append({**self._settings, **group, "params": [*group["params"]]})

    def step(*args: Any, **kwargs: Any) -> Any:
        """Move the parameters; hooks get all arguments, the optimizer among them."""
        for hook in [*PRE.values()]:
            hook(args[0], args, kwargs)
        found = args[0].move_all(*args[1:], **kwargs)
        for hook in [*POST.values()]:
            hook(args[0], args, kwargs)
        return found

    def move_all(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for each in group["params"]:
                if each.grad is not None:
                    state = self.state.get(each, {})
                    self.move(each.numbers, each.grad.numbers, state, **group)
                    self.state |= {each: state} if state else {}
        return loss

    move: Callable[..., None]


class SGD(Optimizer):
    defaults = {"momentum": 0, "dampening": 0, "weight_decay": 0, "nesterov": False,
                "maximize": False}  # fmt: skip

    def move(self, w: Any, g: Any, state: Any, *, lr: float, momentum: float, dampening: float,
             weight_decay: float, nesterov: bool, **_: Any) -> None:  # fmt: skip
        g = g + weight_decay * w
        if momentum:
            if state:
                velocity = momentum * state["momentum_buffer"].numbers + (1 - dampening) * g
            else:
                velocity = g
            state["momentum_buffer"] = Tensor(velocity, float64)
            g = g + momentum * velocity if nesterov else velocity
        w -= lr * g


class Adam(Optimizer):
    defaults = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False,
                "maximize": False}  # fmt: skip
    decays_weights = False

    def move(self, w: Any, g: Any, state: Any, *, lr: float, betas: tuple[float, float],
             eps: float, weight_decay: float, **_: Any) -> None:  # fmt: skip
        if self.decays_weights:
            w *= 1 - lr * weight_decay
        else:
            g = g + weight_decay * w
        step = float(state.get("step", 0.0)) + 1
        state["step"] = Tensor(step)
        for name, beta, new in (("exp_avg", betas[0], g), ("exp_avg_sq", betas[1], g * g)):
            known = state[name].numbers if name in state else 0.0
            state[name] = Tensor(beta * known + (1 - beta) * new, float64)
        m, v = state["exp_avg"].numbers, state["exp_avg_sq"].numbers
        correction = 1 - betas[0] ** step, math.sqrt(1 - betas[1] ** step)
        w -= lr / correction[0] * m / (np.sqrt(v) / correction[1] + eps)


class AdamW(Adam):
    defaults = Adam.defaults | {"weight_decay": 1e-2}
    decays_weights = True


def modules() -> dict[str, ModuleType]:
    """Return the modules of PyTorch by name, of these classes."""
    torch, hooks = ModuleType("torch"), ModuleType("torch.optim.optimizer")
    torch.__dict__.update(
        __version__="stand-in", tensor=tensor, float32=float32, float64=float64, int64=int64,
        bfloat16=bfloat16, get_num_threads=lambda: 1,
        optim=SimpleNamespace(SGD=SGD, Adam=Adam, AdamW=AdamW, optimizer=hooks),
        nn=SimpleNamespace(Module=Module, Parameter=Parameter, Linear=Linear, ReLU=ReLU,
                           Sequential=Sequential),
    )  # fmt: skip
    hooks.__dict__.update(
        register_optimizer_step_pre_hook=partial(register, PRE),
        register_optimizer_step_post_hook=partial(register, POST),
    )
    return {"torch": torch, "torch.optim.optimizer": hooks}
