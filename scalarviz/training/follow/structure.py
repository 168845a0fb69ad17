"""Structure: which modules and functions a PyTorch model calls, and which tensors go between them.

A node is a leaf module or a function outside of leaf modules, a frame is a module that calls
others, and an edge is a tensor that one node makes and another one takes. A node is identified by
its frame, the chain of code positions up to the forward of that frame, and its module or weights.
Without weights it is also identified by the call with weights before it, or else the one behind it,
and by what it reads: thus a loop over time is one node that is called several times, and a loop
over different modules is not. The next pass of a model calls the same nodes.

PyTorch is never imported here, as in sources.py.
"""

from __future__ import annotations

import inspect
import os
import sys
import weakref
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from types import FrameType
from typing import Any, final

from scalarviz.training.network.torch_layers import unwrapped

FOLDER = os.path.dirname(__file__).replace("\\", "/")
MOST_WAYS = 6  # changes of shape recorded with a node
BACK = 64  # autograd nodes up to one whose tensor is known
# Functions that pass their tensor through, in another shape or type or with some elements zeroed.
PASSING = frozenset(
    "H T __getitem__ alias alpha_dropout bfloat16 bool chunk clone contiguous cpu cuda data detach "
    "double dropout dropout2d expand expand_as feature_alpha_dropout flatten flip float half int "
    "index_select long mT masked_fill masked_fill_ movedim narrow pad permute positive real t to "
    "rearrange requires_grad_ reshape reshape_as roll select split squeeze swapaxes tensor_split "
    "transpose tril triu type type_as unbind unflatten unsqueeze view view_as where".split()
)
DIVIDING = "split", "chunk", "unbind", "view", "reshape", "unflatten"  # divide rows of a module
RANDOM = frozenset(
    "bernoulli bernoulli_ multinomial normal_ poisson rand_like randint_like randn_like "
    "uniform_".split()
)
# Functions whose results depend on no number of a tensor that they take.
IGNORED = frozenset(
    "empty_like full_like grad new_empty new_full new_ones new_tensor new_zeros ones_like "
    "zeros_like".split()
)
SIGNS = {
    "+": "add add_ __add__ __radd__ __iadd__",
    "×": "mul mul_ __mul__ __rmul__ __imul__ multiply",
    "−": "sub sub_ __sub__ __rsub__ __isub__ rsub subtract",
    "÷": "div div_ __truediv__ __rtruediv__ truediv divide",
    "@": "matmul __matmul__ bmm mm einsum",
    "cat": "cat concat concatenate",
    "attention": "scaled_dot_product_attention multi_head_attention_forward",
}
NAMES = {name: sign for sign, names in SIGNS.items() for name in names.split()}
SCALED = "+", "×", "−", "÷", "pow"  # functions of one tensor and a number
SETTINGS = (
    "stride padding kernel_size num_heads num_layers hidden_size groups dilation p negative_slope"
).split()
Row = dict[str, Any]


def tensors_in(thing: Any) -> list[Any]:
    """Return the tensors of nested lists, tuples, dicts and other pytrees of PyTorch."""
    torch: Any = sys.modules["torch"]
    leaves = torch.utils._pytree.tree_leaves(thing)
    return [each for each in leaves if isinstance(each, torch.Tensor)]


def storage_of(tensor: Any) -> int:
    """Return the identity of the storage of a tensor, or of a tensor without storage."""
    with suppress(Exception):
        return int(tensor.untyped_storage()._cdata)
    return id(tensor)


@final
class Makers:
    """Knows which node made a tensor, without keeping the tensor alive.

    Args:
        arrays: identities of the parameters and buffers, which no node makes

    Attributes:
        functions: nodes by autograd node, which keeps numbers of a forward pass alive
    """

    def __init__(self, arrays: set[int]) -> None:
        self._arrays = arrays
        self.functions: dict[Any, int] = {}
        # By storage, the tensors that use it: weak reference and node by identity.
        self._views = defaultdict[int, dict[int, tuple[Any, int]]](dict)

    def add(self, tensor: Any, node: int, *, is_written: bool = False) -> None:
        """Remember that a node made a tensor, or changed it in place and thus all its views."""
        if id(tensor) not in self._arrays:
            views = self._views[storage_of(tensor)]
            if is_written:
                views.clear()
            views[id(tensor)] = weakref.ref(tensor), node
            self.functions[tensor.grad_fn] = node

    def of(self, tensor: Any) -> int | None:
        """Return the node that made a tensor, or None."""
        views = self._views.get(storage_of(tensor), {})
        alive = {known: node for known, (view, node) in views.items() if view() is not None}
        if id(tensor) in alive or id(tensor) in self._arrays:
            return alive.get(id(tensor))
        if alive:
            return [*alive.values()][-1]
        left = [tensor.grad_fn]
        for function in left:  # of a tensor made where no mode looks, as in a custom function
            if function is not None and function in self.functions:
                return self.functions[function]
            if function is not None and len(left) < BACK:
                left += [each for each, _ in function.next_functions]
        return None


@final
class Graph:
    """The nodes, frames and edges of a model, as far as it was called.

    Attributes:
        nodes: rows of a record; one that is merged into another row has the id of that one
        modules: those that can be observed, not those within a leaf
        waiting: identities of those with weights that were not called
        makers: which node made a tensor
    """

    def __init__(self, model: Any) -> None:
        self.nodes: list[Row] = []
        self._frames: list[Row] = []
        # By kind, frame, module or function, code positions, and the weights before.
        self._rows = defaultdict[Any, list[Row]](list)
        self._inputs: dict[Any, Row] = {}  # by name and outermost frame
        self._edges: dict[tuple[int, int], list[int]] = {}
        self._times = Counter[Any]()  # calls of rows in this pass
        self._last: Any = None  # call with weights
        self._since: list[tuple[Any, Row]] = []  # calls without weights since then
        self._before: dict[Any, Row] = {}  # those before each call with weights in this pass
        self._running: list[tuple[Row | None, bool]] = []  # frames and leaves; has it weights
        self._entering: dict[int, str] = {}  # names of the arguments of the model
        self._model = unwrapped(model)  # a record has its names, without modules around it
        self._paths = names_by_id(self._model.named_modules(remove_duplicate=False))
        self._weights: dict[int, list[str]] = {}  # names of parameters
        self._arrays = set[int]()
        self.makers = Makers(self._arrays)
        self.modules = observed_modules(model)
        self.waiting = {id(each) for each in self.modules if weights_of(each)}

    def rows(self) -> dict[str, list[Any]]:
        """Return what a record has of it."""
        ids = [each["id"] for index, each in enumerate(self.nodes) if each["id"] == index]
        number = {each: index for index, each in enumerate(ids)}
        return {
            "frames": [{**each, "first": bisect_left(ids, each["first"])} for each in self._frames],
            "nodes": [{**self.nodes[each], "id": number[each]} for each in ids],
            "edges": [[number[a], number[b], shape] for (a, b), shape in self._edges.items()],
        }

    def begin(self, module: Any, args: Any, kwargs: Any) -> None:
        """Begin a pass of a model: name its arguments."""
        for each in (self._times, self._since, self._before, self._arrays):
            each.clear()
        self._last = None
        # In `functional_call` the arrays of a model are other tensors.
        self._weights = names_by_id(self._model.named_parameters(remove_duplicate=False))
        self._arrays.update(self._weights, map(id, self._model.buffers()))
        given = inspect.signature(module.forward).parameters.values()
        names = [each.name for each in given if each.kind < each.VAR_POSITIONAL]
        names += [f"input {i + 1}" for i in range(len(names), len(args))]
        named = [*zip(names, args, strict=False), *kwargs.items()]
        self._entering = {id(x): name for name, thing in named[::-1] for x in tensors_in(thing)}

    def end(self, output: Any) -> None:
        """End a pass: note which nodes make its results."""
        for each in tensors_in(output):
            if (row := self._maker(each)) is not None:
                row["out"] = True
        self.makers.functions.clear()

    def enter(self, module: Any) -> None:
        """Record the call of a module that begins."""
        row, has_weights = None, next(module.parameters(), None) is not None
        if not is_leaf(module):
            row = self._called("frame", type(module).__name__, id(module), has_weights)
            row["path"] = self._paths.get(id(module), [""])[0]
        self._running.append((row, has_weights))

    def leave(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        """Record what a leaf module takes and makes."""
        self.waiting.discard(id(module))
        frame, has_weights = self._running.pop()
        if frame is None:
            taken = tensors_in((weights_of(module), args, kwargs))
            row = self._node(
                "module",
                type(module).__name__,
                id(module),
                taken,
                [each for each in taken if id(each) in self._weights],
                tensors_in(output),
                has_weights=has_weights,
            )
            row["path"], *others = self._paths.get(id(module), [""])
            row["shared"] = sorted({*row["shared"], *others})
            row["settings"] = settings_of(module)
        elif has_weights:
            self._reach(frame)

    def call(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Record the call of a function of PyTorch."""
        name = getattr(function, "__name__", str(function))
        if name == "__get__":  # an attribute, such as .shape or .T
            name = getattr(function.__self__, "__name__", name)
        taken = tensors_in((args, kwargs))
        made = tensors_in(args[0] if name == "__setitem__" else result)
        is_within = self._running[-1][0] is None
        if is_within or not made or name in IGNORED or id(made[0]) in self._arrays:
            return
        weights = [each for each in taken if id(each) in self._weights]
        known = [each for each in taken if self._is_known(each)]
        is_random = name in RANDOM
        if name in PASSING and known and not weights and (name != "where" or len(known) == 1):
            self._pass(name, self._source(known[0]), made)
        elif name != "data" and (known or weights or is_random):
            kind, word = "noise" if is_random else "function", NAMES.get(name, name.strip("_"))
            taken = [] if is_random else taken
            by = name, *(self._weights[id(each)][0] for each in weights)
            row = self._node(kind, word, by, taken, weights, made, has_weights=bool(weights))
            numbers = [x for x in args if type(x) in (int, float)]
            if word in SCALED and numbers and len(known) < 2:
                row["settings"]["by"] = numbers[0]
            if name in ("scaled_dot_product_attention", "softmax"):
                heads = taken[0].shape[1] if taken[0].dim() == 4 else 1
                row["settings"] = {"heads": heads, "causal": bool(kwargs.get("is_causal"))}

    @property
    def _frame(self) -> int:
        """The innermost running frame, or -1."""
        return next((row["id"] for row, _ in reversed(self._running) if row is not None), -1)

    def _called(
        self, kind: str, name: str, what: Any, has_weights: bool, sources: Collection[int] = ()
    ) -> Row:
        """Return the row of a call, a new one at its first call."""
        chain, within = code_positions() if self._running else ((), [])
        key = kind, self._frame, what, chain
        is_alone = has_weights or kind == "frame"
        rows = self._rows[key if is_alone else (*key, self._last)]
        row = rows[0] if is_alone and rows else self._repeated(rows, sources)
        if row is None:
            row = self._added(kind, name, within)
            rows.append(row)
        self._times[id(row)] += 1
        row["times"] = max(row["times"], self._times[id(row)])
        if has_weights:
            self._reach(row)
        elif kind != "frame":
            self._since.append((key, row))
        return row

    def _repeated(self, rows: Iterable[Row], sources: Collection[int]) -> Row | None:
        """Return which of the rows at a code position is called again, or None.

        It is one that reads the same nodes, one that was not called in this pass, or one that leads
        to what it reads now.
        """
        ids = [each["id"] for each in rows]
        same = [each for each in ids if all((source, each) in self._edges for source in sources)]
        same = same or [each for each in ids if not self._times[id(self.nodes[each])]]
        behind = {*sources} if ids and not same else set[int]()
        while found := {a for a, b in self._edges if b in behind} - behind:
            behind |= found
        same = same or [each for each in ids if each in behind]
        return self.nodes[same[0]] if same else None

    def _reach(self, row: Row) -> None:
        """Note a call with weights. What comes before it in two rounds of a loop is one row."""
        counts = Counter[Any]()
        for key, each in self._since:
            counts[key] += 1
            first = self._before.setdefault((key, id(row), counts[key]), each)
            if first["id"] != each["id"]:
                self._merge(first["id"], each["id"])
        self._since.clear()
        self._last = id(row)

    def _merge(self, new: int, old: int) -> None:
        """Let a node stand for another one."""
        row = self.nodes[new]
        self._times[id(row)] += self._times[id(self.nodes[old])]
        row["times"] = max(row["times"], self._times[id(row)])
        row["out"] |= self.nodes[old]["out"]
        for each in self.nodes:
            each["id"] = new if each["id"] == old else each["id"]
        self._edges = {
            (new if a == old else a, new if b == old else b): shape
            for (a, b), shape in self._edges.items()
        }

    def _added(self, kind: str, name: str, within: list[str]) -> Row:
        """Return a new row that was not called."""
        rows, frame = (self._frames if kind == "frame" else self.nodes), self._frame
        row: Row = {"id": len(rows), "path": "", "times": 0, "within": within}
        if kind == "frame":
            row |= {"kind": name, "parent": frame, "first": len(self.nodes)}
        else:
            row |= {
                "kind": kind, "name": name, "frame": frame, "out": False, "arrays": [], "sizes": [],
                "shared": [], "settings": {}, "shape": [], "ways": [],
            }  # fmt: skip
        rows.append(row)
        return row

    def _node(
        self,
        kind: str,
        name: str,
        what: Any,
        taken: list[Any],
        weights: list[Any],
        made: list[Any],
        *,
        has_weights: bool,
    ) -> Row:
        """Return the node of a call, with the arrays and tensors that it takes and makes."""
        read = [(self._source(each), [*each.shape]) for each in taken if self._is_known(each)]
        row = self._called(kind, name, what, has_weights, [source for source, _ in read])
        for each in weights:
            array, *others = self._weights[id(each)]
            row["shared"] = sorted({*row["shared"], *others})
            if array not in row["arrays"]:
                row["arrays"].append(array)
                row["sizes"].append([*each.shape])
        for source, shape in read:
            # This call may have merged the source with another node.
            self._edges.setdefault((self.nodes[source]["id"], row["id"]), shape)
        for each in made:
            row["shape"] = row["shape"] or [*each.shape]
            self.makers.add(each, row["id"], is_written=any(each is other for other in taken))
        return row

    def _is_known(self, tensor: Any) -> bool:
        return self.makers.of(tensor) is not None or id(tensor) in self._entering

    def _source(self, tensor: Any) -> int:
        """Return the node of a known tensor; a new one of an argument of the model.

        Arguments of other names may be parts of one tensor.
        """
        row, name = self._maker(tensor), self._entering.get(id(tensor), "")
        if row is not None and (not name or row["kind"] != "input" or row["name"] == name):
            return int(row["id"])
        running = [row for row, _ in self._running if row]
        key = name, running[0]["id"] if running else -1
        row = self._inputs[key] = self._inputs.get(key) or self._added("input", name, [])
        row.update(frame=-1, times=1, shape=[*tensor.shape])
        self.makers.add(tensor, row["id"])
        return int(row["id"])

    def _maker(self, tensor: Any) -> Row | None:
        """Return the node that made a tensor, or None."""
        made = self.makers.of(tensor)
        return None if made is None else self.nodes[self.nodes[made]["id"]]

    def _pass(self, name: str, node: int, made: list[Any]) -> None:
        """Record that tensors are the output of a node, in another shape."""
        for each in made:
            self.makers.add(each, node)
        ways, way = self.nodes[node]["ways"], [name, *([*each.shape] for each in made[:4])]
        if name in DIVIDING and way not in ways and len(ways) < MOST_WAYS:
            ways.append(way)


def names_by_id(named: Iterable[tuple[str, Any]]) -> dict[int, list[str]]:
    """Return the names of modules or arrays by identity."""
    found: dict[int, list[str]] = {}
    for name, each in named:
        found.setdefault(id(each), []).append(name)
    return found


def settings_of(module: Any) -> dict[str, Any]:
    """Return the settings of a module that are numbers, words or tuples of integers."""
    settings = {name: getattr(module, name, None) for name in SETTINGS}
    return {
        name: value
        for name, value in settings.items()
        if isinstance(value, (int, float, str))
        or (isinstance(value, tuple) and all(type(each) is int for each in value))
    }


def code_positions() -> tuple[tuple[Any, ...], list[str]]:
    """Return the code positions from here up to the forward of the running module.

    Also returns a list with the name of the method that this forward calls, or an empty one.
    """
    call = sys.modules["torch"].nn.Module._call_impl.__code__
    frame: FrameType | None = sys._getframe()
    found: list[FrameType] = []
    while frame is not None and not (found and frame.f_code is call):
        if is_own(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    names = [each.f_code.co_name.strip("_") for each in found[-2::-1]]
    within = [name for name in names if not name.startswith("<")][:1]
    return tuple((id(each.f_code), each.f_lasti) for each in found), within


def is_own(path: str) -> bool:
    """Return whether code belongs to a model: to a program, or to a module of PyTorch."""
    path = path.replace("\\", "/")
    is_layer = "/nn/modules/" in path and not path.endswith("/module.py")
    return not path.startswith(FOLDER) and ("/torch/" not in path or is_layer)


def is_compiled(module: Any) -> bool:
    """Return whether hooks inside a module would be compiled into it."""
    return hasattr(module, "_orig_mod") or bool(getattr(module, "_compiled_call_impl", None))


def is_leaf(module: Any) -> bool:
    """Return whether a module is a node of the structure, and nothing in it is looked at."""
    torch, kind = sys.modules["torch"], type(module)
    if is_compiled(module) or isinstance(module, torch.jit.ScriptModule):
        return True
    is_layer = kind.__module__.startswith("torch.nn.") and kind is not torch.nn.Sequential
    return is_layer and (kind is torch.nn.MultiheadAttention or not [*module.children()])


def observed_modules(model: Any) -> list[Any]:
    """Return the modules of a model that are not within a leaf."""
    leaves = [each for each in model.modules() if is_leaf(each)]
    closed = {id(inner) for each in leaves for inner in [*each.modules()][1:]}
    return [each for each in model.modules() if id(each) not in closed]


def weights_of(module: Any) -> list[Any]:
    """Return the parameters that a module itself uses."""
    return [*module.parameters(recurse=is_leaf(module))]
