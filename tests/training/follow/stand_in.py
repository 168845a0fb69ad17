"""A stand-in for what `sv.follow` uses of PyTorch: modules, tensors, optimizers with hooks.

Gradients are set by hand; test_torch_table.py compares it with PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

bfloat16 = "bfloat16"  # which numpy has not: its numbers are float32


class Tensor:
    """Numbers on a device; those of the device "meta" cannot be read."""

    is_sparse, requires_grad, grad = False, False, None

    def __init__(self, numbers: Any, dtype: Any = np.float32, device: str = "cpu") -> None:
        self.numbers = np.asarray(numbers, np.float32 if dtype == bfloat16 else dtype)
        self.dtype, self.device = dtype, SimpleNamespace(type=device)
        self.is_cpu = device == "cpu"
        self.shape, self.ndim, self.item = self.numbers.shape, self.numbers.ndim, self.numbers.item

    def of(self, numbers: Any) -> Tensor:
        return Tensor(numbers, self.dtype, self.device.type)

    def detach(self) -> Tensor:
        return self.of(self.numbers)

    def reshape(self, *shape: int) -> Tensor:
        return self.of(self.numbers.reshape(*shape))

    def __getitem__(self, rows: Any) -> Tensor:
        return self.of(self.numbers[rows])

    def cpu(self) -> Tensor:
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self

    def numpy(self) -> Any:
        if self.requires_grad or self.dtype == bfloat16:
            raise RuntimeError("Can't call numpy() on this Tensor.")
        return self.numbers

    def __float__(self) -> float:
        return float(self.item())

    def float(self) -> Tensor:
        return Tensor(self.numbers)

    def is_floating_point(self) -> bool:
        return self.dtype != np.int64

    def element_size(self) -> int:
        return 2 if self.dtype == bfloat16 else self.numbers.itemsize


class Parameter(Tensor):
    """A tensor that optimizers move."""

    def __init__(self, given: Tensor) -> None:
        super().__init__(given.numbers.copy(), given.dtype, given.device.type)
        self.requires_grad = True


class Module:
    """A module; what is assigned to it is registered as in PyTorch."""

    def __init__(self, *inner: Module) -> None:
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, _unsaved=set())
        for place, each in enumerate(inner):
            setattr(self, str(place), each)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        kind = "_parameters" if isinstance(value, Parameter) else "_modules"
        if isinstance(value, (Parameter, Module)):
            getattr(self, kind)[name] = value

    def register_buffer(self, name: str, value: Tensor, persistent: bool = True) -> None:
        self._buffers[name] = value
        self._unsaved |= set() if persistent else {name}

    def named_children(self) -> Iterable[tuple[str, Module]]:
        once = {each: name for name, each in [*self._modules.items()][::-1]}
        return [(name, each) for name, each in self._modules.items() if once[each] == name]

    def children(self) -> Iterable[Module]:
        return (each for _, each in self.named_children())

    def named_modules(
        self, prefix: str = "", remove_duplicate: bool = True, seen: Any = None
    ) -> Iterator[tuple[str, Module]]:
        seen = set() if seen is None else seen
        if self not in seen:
            yield prefix, self
        seen |= {self} if remove_duplicate else set()
        for name, each in self._modules.items():
            yield from each.named_modules(f"{prefix}.{name}".lstrip("."), remove_duplicate, seen)

    def _named(self, kind: str, once: bool = True) -> Iterator[tuple[str, Any]]:
        for prefix, module in self.named_modules(remove_duplicate=once):
            for name, each in getattr(module, kind).items():
                if once or name not in module._unsaved:
                    yield f"{prefix}.{name}".lstrip("."), each

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Parameter]]:
        found = [*self._named("_parameters", remove_duplicate)]
        once = {id(each): (name, each) for name, each in found[::-1]}
        return [x for x in found if x in once.values()] if remove_duplicate else found

    def parameters(self) -> Iterator[Parameter]:
        return (each for _, each in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers")

    def state_dict(self, *, keep_vars: bool = False) -> dict[str, Tensor]:
        return dict([*self._named("_parameters", False), *self._named("_buffers", False)])


class Linear(Module):
    """A matrix and a bias."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.weight = Parameter(Tensor(rng.normal(size=(outputs, inputs))))
        self.bias = Parameter(Tensor(rng.normal(size=outputs)))


Sequential, ReLU = (type(name, (Module,), {}) for name in ("Sequential", "ReLU"))
HOOKS: dict[str, dict[int, Any]] = {"pre": {}, "post": {}}


def register(when: str, hook: Callable[..., object]) -> SimpleNamespace:
    """Add a hook; return a handle that removes it."""
    HOOKS[when][id(hook)] = hook
    return SimpleNamespace(remove=lambda: HOOKS[when].pop(id(hook), None))


class Optimizer:
    """Groups of parameters, and its numbers for each; a step has hooks around it."""

    usual: ClassVar[dict[str, Any]] = {"weight_decay": 0, "maximize": False}

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, **settings: Any) -> None:
        self.state, self.param_groups = dict[Tensor, dict[str, Any]](), list[dict[str, Any]]()
        self._settings = {"lr": lr, **self.usual, **settings}
        given = [*params]
        for each in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(each)

    def add_param_group(self, group: dict[str, Any]) -> None:
        self.param_groups.append({**self._settings, **group, "params": [*group["params"]]})

    def step(*args: Any, **kwargs: Any) -> Any:
        """Move the parameters; hooks get all arguments, the optimizer among them."""
        for hook in [*HOOKS["pre"].values()]:
            hook(args[0], args, kwargs)
        found = args[0].move_all(*args[1:], **kwargs)
        for hook in [*HOOKS["post"].values()]:
            hook(args[0], args, kwargs)
        return found

    def move_all(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for each in [each for each in group["params"] if each.grad is not None]:
                state = self.state.get(each, {})
                self.move(each.numbers, each.grad.numbers, state, SimpleNamespace(**group))
                self.state |= {each: state} if state else {}
        return loss

    move: Callable[..., None]


class SGD(Optimizer):
    usual: ClassVar[dict[str, Any]] = {
        **Optimizer.usual,
        "momentum": 0,
        "dampening": 0,
        "nesterov": False,
    }

    def move(self, w: Any, g: Any, state: dict[str, Any], given: Any) -> None:
        g = g + given.weight_decay * w
        if given.momentum:
            known = state.get("momentum_buffer")
            moved = (
                g if known is None else given.momentum * known.numbers + (1 - given.dampening) * g
            )
            state["momentum_buffer"] = Tensor(moved, np.float64)
            g = g + given.momentum * moved if given.nesterov else moved
        w -= given.lr * g


class Adam(Optimizer):
    usual: ClassVar[dict[str, Any]] = {
        **Optimizer.usual,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "amsgrad": False,
    }
    decays_weights = False

    def move(self, w: Any, g: Any, state: dict[str, Any], given: Any) -> None:
        w -= self.decays_weights * given.lr * given.weight_decay * w
        g = g + (not self.decays_weights) * given.weight_decay * w
        step = state["step"] = Tensor(float(state.get("step", 0.0)) + 1)
        moments = []
        for name, beta, new in zip(("exp_avg", "exp_avg_sq"), given.betas, (g, g * g), strict=True):
            state[name] = Tensor(beta * float_or(state.get(name)) + (1 - beta) * new, np.float64)
            moments.append(state[name].numbers / (1 - beta ** float(step)))
        w -= given.lr * moments[0] / (np.sqrt(moments[1]) + given.eps)


class AdamW(Adam):
    usual: ClassVar[dict[str, Any]] = {**Adam.usual, "weight_decay": 1e-2}
    decays_weights = True


def float_or(known: Tensor | None) -> Any:
    return 0.0 if known is None else known.numbers


def modules() -> dict[str, ModuleType]:
    """Return the modules of PyTorch by name, of these classes."""
    torch, hooks = ModuleType("torch"), ModuleType("torch.optim.optimizer")
    torch.__dict__.update(
        __version__="stand-in", get_num_threads=partial(int, 1), tensor=Tensor, bfloat16=bfloat16,
        float32=np.float32, float64=np.float64, int64=np.int64,
        optim=SimpleNamespace(SGD=SGD, Adam=Adam, AdamW=AdamW, optimizer=hooks),
        nn=SimpleNamespace(Module=Module, Parameter=Parameter, Linear=Linear, ReLU=ReLU,
                           Sequential=Sequential),
        linalg=SimpleNamespace(vector_norm=lambda x, dtype: np.linalg.norm(dtype(x.numbers))),
    )  # fmt: skip
    for when in HOOKS:
        setattr(hooks, f"register_optimizer_step_{when}_hook", partial(register, when))
    return {"torch": torch, "torch.optim.optimizer": hooks}
