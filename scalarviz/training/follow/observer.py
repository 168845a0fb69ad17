"""Observer: sees which modules and functions a PyTorch model calls while it is trained.

It looks at the first forward passes of a training run, and adds none: hooks around each module see
the modules, a function mode within the model's forward sees functions. Both are removed after the
first optimizer step. No error leaves a hook: the first one ends the observation.
"""

from __future__ import annotations

import copy
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from types import SimpleNamespace
from typing import Any, final

from scalarviz.training.follow.structure import Graph, is_compiled

MOST_NODES, MOST_SECONDS = 20_000, 0.5
MOST_CALLS, MOST_STEPS = 3, 20  # passes of each model, and optimizer steps, that are observed
NOT_INSIDE = "DataParallel", "FullyShardedDataParallel"
IN_PARTS = (
    "it is called in parts: follow a part, or several by name, as in "
    "sv.follow(encoder=m.encoder, decoder=m.decoder)"
)
CONTAINERS = "ModuleDict", "ModuleList"  # of models, which are not called themselves


@final
class Hook:
    """A hook of an observed module. In a saved model it does nothing, in a copy it is removed.

    Attributes:
        handle: the handle that PyTorch returns for it
    """

    handle: Any

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *given: Any) -> None:
        self._call(*given)

    def __reduce__(self) -> Any:
        return getattr, (nullcontext(), "__exit__")  # which a program without scalarviz also has

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a hook that does nothing, which is removed when the whole copy is complete."""
        end, hooks = Hook(self._call), memo.get(id(self.handle.hooks_dict_ref()), {})
        memo[id(end)] = end  # until then
        weakref.finalize(end, hooks.pop, self.handle.id, None)
        return nullcontext().__exit__


@final
class Observer:
    """Observes the structure of a model while it is trained.

    Args:
        model: a PyTorch module

    Attributes:
        lack: why the structure is unknown or incomplete, or ""
        seconds: CPU time spent on observing
    """

    def __init__(self, model: Any) -> None:
        self.lack, self.seconds = "", 0.0
        self._model, self._torch = model, sys.modules["torch"]
        self._thread = threading.get_ident()
        self._graph: Any = None
        self._handles: list[Any] = []
        self._calls = Counter[int]()  # passes by identity of the outermost module
        self._depth, self._is_observed = 0, False  # hooked modules that run; this pass
        self._has_run = False  # whether a hook was called, unlike in a model that is compiled
        self._try(self._hook)

    def _hook(self) -> None:
        """Set the hooks, or say why the structure is unknown."""
        self._is_elsewhere()  # here an old PyTorch raises an error, and in no hook
        model, kind = self._model, type(self._model).__name__
        if getattr(model, "_compiled_call_impl", None):
            self.lack = "model.compile() also compiles hooks: follow torch.compile(model)"
        elif kind in NOT_INSIDE:
            self.lack = f"{kind} is not looked into"
        elif is_compiled(model):  # hooks inside would be compiled into it
            self._add(model.register_forward_pre_hook, self._before_compiled)
        else:
            self._graph, self._mode = Graph(model), function_mode(self._called)
            for each in self._graph.modules:
                self._add(each.register_forward_pre_hook, self._before)
                self._add(each.register_forward_hook, self._after, always_call=True)
            self._handles.append(hidden_from_scripts(self._torch.jit._recursive))

    def _add(self, register: Callable[..., Any], call: Callable[..., None], **more: bool) -> None:
        hook = Hook(call)
        hook.handle = register(hook, with_kwargs=True, **more)
        self._handles.append(hook.handle)

    def is_done(self, steps: int) -> bool:
        """Return whether nothing new is expected after the first steps of an optimizer."""
        if self._depth:
            self.lack = self.lack or "a forward pass was interrupted"
        has_seen_all = self._graph is not None and not self._graph.waiting
        often = min(self._calls.values(), default=0) >= MOST_CALLS
        is_late = steps >= MOST_STEPS and self._has_run  # else removing hooks would compile again
        return bool(self.lack) or has_seen_all or often or is_late

    def close(self) -> dict[str, Any]:
        """Remove all hooks and return the structure, as in a record."""
        for each in self._handles:
            each.remove()
        if self._is_observed and self._torch.overrides._get_current_function_mode() is self._mode:
            self._mode.__exit__(None, None, None)  # the pass was interrupted
        if not self._calls:
            self.lack = self.lack or "no forward pass in training mode was seen"
        elif not self._calls[id(self._model)] and type(self._model).__name__ not in CONTAINERS:
            self.lack = self.lack or IN_PARTS
        rows: dict[str, Any] = {"frames": [], "nodes": [], "edges": []}
        self._try(lambda: rows.update(self._graph.rows()))
        return {"version": 1, "lack": self.lack, "cost_ms": round(1e3 * self.seconds, 3), **rows}

    def _try(self, work: Callable[..., None], *given: Any) -> None:
        """Call a method unless a lack is known, and add the time; an error becomes the lack."""
        begun = time.thread_time()
        try:
            if not self.lack:
                with self._torch._C.DisableTorchFunction():
                    work(*given)
        except Exception as error:
            self.lack = f"{type(error).__name__}: {error}"
        self.seconds += time.thread_time() - begun
        if self.seconds > MOST_SECONDS or (self._graph and len(self._graph.nodes) > MOST_NODES):
            limits = f"{MOST_NODES:,} operations or {MOST_SECONDS} s"
            self.lack = self.lack or f"it takes more than {limits}: the rest is not drawn"

    # Hooks, of which none raises an error.

    def _is_elsewhere(self) -> bool:
        """Return whether this call is compiled, traced, in a backward pass or in another thread."""
        torch = self._torch
        return (
            torch.compiler.is_compiling()  # first: nothing else is compiled into the model
            or torch.jit.is_tracing()
            or torch._C._current_graph_task_id() != -1
            or threading.get_ident() != self._thread
        )

    def _begins(self, module: Any) -> bool:
        """Return whether to observe a pass that begins."""
        if self.lack or not module.training or not self._torch.is_grad_enabled():
            return False
        self._calls[id(module)] += 1
        return self._calls[id(module)] <= MOST_CALLS

    def _before(self, module: Any, args: Any, kwargs: Any) -> None:
        if self._is_elsewhere():
            return
        self._has_run = True
        if not self._depth and self._begins(module):
            self._is_observed = True
            self._mode.__enter__()
            self._try(self._graph.begin, module, args, kwargs)
        self._depth += 1
        if self._is_observed:
            self._try(self._graph.enter, module)
            if is_compiled(module):
                self._mode.__exit__(None, None, None)  # it would be compiled into the module

    def _after(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        if self._is_elsewhere() or not self._depth:
            return
        self._depth -= 1
        if self._is_observed:
            if is_compiled(module):
                self._mode.__enter__()
            self._try(self._graph.leave, module, args, kwargs, output)
            if not self._depth:
                self._is_observed = False
                self._mode.__exit__(None, None, None)
                self._try(self._graph.end, output)

    def _called(self, function: Any, args: Any, kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not self._is_elsewhere():
            self._try(self._graph.call, function, args, kwargs, result)
        return result

    def _before_compiled(self, model: Any, args: Any, kwargs: Any) -> None:
        """Observe a copy of a compiled model and its arguments, without numbers."""
        if self._graph is not None or self._is_elsewhere() or not self._begins(model):
            return
        fakes = self._torch._subclasses.fake_tensor
        fake = fakes.FakeTensorMode()
        try:
            with fakes.FakeCopyMode(fake):
                inner, args, kwargs = copy.deepcopy((model._orig_mod, args, kwargs))
            observer = Observer(inner)
            try:
                with fake:
                    inner(*args, **kwargs)
            finally:
                observer.close()
            self._graph, self.lack = observer._graph, observer.lack
        except Exception as error:
            self.lack = (
                "the way through this compiled model depends on its numbers "
                f"({type(error).__name__})"
            )


def hidden_from_scripts(recursive: Any) -> Any:
    """Keep `torch.jit.script` from compiling each Hook; return a handle that ends this."""
    get = recursive.get_hook_stubs

    @wraps(get)  # which is then its __wrapped__
    def get_hook_stubs(module: Any) -> Any:
        names = "_forward_hooks", "_forward_pre_hooks"
        before = {name: module.__dict__[name] for name in names}
        bare = [{i: x for i, x in y.items() if type(x) is not Hook} for y in before.values()]
        module.__dict__.update(zip(names, bare, strict=True))
        try:
            return get(module)
        finally:
            module.__dict__.update(before)

    def remove() -> None:
        get_hook_stubs.__dict__["is_over"] = True
        while "is_over" in recursive.get_hook_stubs.__dict__:
            recursive.get_hook_stubs = recursive.get_hook_stubs.__wrapped__

    recursive.get_hook_stubs = get_hook_stubs
    return SimpleNamespace(remove=remove)


def function_mode(call: Callable[[Any, Any, Any], Any]) -> Any:
    """Return a context in which a function calls the functions of PyTorch, with their arguments."""
    overrides: Any = sys.modules["torch.overrides"]

    class Mode(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return call(function, args, kwargs or {})

    return Mode()
