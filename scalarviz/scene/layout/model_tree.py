"""The tree of a followed model: which modules and functions a picture shows, and in which frames.

A recorded structure contains every call. Here it becomes a tree of `Item`s: functions without
effect on the picture are passed through, a frame with a single item is that item, and equal
siblings become one item with a number of repetitions. `model_layout` places the items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count, groupby
from math import prod
from typing import Any

from scalarviz.base.texts import text

PASSED = frozenset("AlphaDropout Dropout Dropout1d Dropout2d Flatten Identity Unflatten".split())
LOSSES = frozenset(
    "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div l1_loss mse_loss "
    "nll_loss smooth_l1_loss BCELoss BCEWithLogitsLoss CrossEntropyLoss L1Loss MSELoss NLLLoss "
    "SmoothL1Loss".split()
)
SIGNS = tuple("+×−÷@")  # functions drawn as a ring
RECURRENT = frozenset("GRU LSTM RNN".split())  # modules that repeat within a call
NAMES = {
    "AdaptiveAvgPool2d": "mean", "AvgPool2d": "mean pool", "BatchNorm2d": "batch norm",
    "GELU": "gelu", "LeakyReLU": "leaky relu", "LogSoftmax": "log softmax",
    "MaxPool2d": "max pool", "ReLU": "relu", "SiLU": "silu", "Sigmoid": "sigmoid",
    "Softmax": "softmax", "Tanh": "tanh", "adaptive_avg_pool2d": "mean",
    "avg_pool2d": "mean pool", "cat": "concat", "max_pool2d": "max pool", "randn_like": "noise",
}  # fmt: skip
FEWEST, LONGEST = 3, 6  # repetitions that are folded, and siblings in one of them
NORM = 12  # calls of a module with only vectors that is drawn as one wall
Node = dict[str, Any]
Edges = dict[tuple[int, int], Sequence[int]]  # shapes of tensors by the nodes they connect
Into = Mapping[int, Sequence[int]]  # for each node, those before it


@dataclass(eq=False)
class Item:
    """A wall, a chip, an input, an output or a frame of the picture.

    Attributes:
        kind: "wall" (a module or function with arrays), "function", "input", "output" or "frame"
        name: name of the module class, function or argument
        path: name of the module in the model, or ""
        node: the recorded node; None for a frame
        id: number of the node
        words: names of the functions of a chip, which are applied one after the other
        units: the children of each repetition; empty without repetitions
        number: which repetition is shown, the first one is 0
        method: name of the method that calls the children of the frame, or ""
    """

    kind: str
    name: str
    path: str = ""
    node: Node | None = None
    id: int = -1
    children: list[Item] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    units: list[list[Item]] = field(default_factory=list)
    number: int = 0
    method: str = ""
    within: Sequence[str] = ()
    parent: Item | None = None
    is_open: bool = True

    @property
    def times(self) -> int:
        """Number of repetitions; 1 for a single item."""
        return max(1, len(self.units))

    @property
    def is_closed(self) -> bool:
        """Whether this is a frame that shows its arrays instead of its children."""
        return self.node is None and not self.is_open

    @property
    def key(self) -> str:
        """Text that identifies a frame among all frames of the tree."""
        return f"{self.path}.{self.method}" if self.method else self.path

    def inside(self, *, every: bool = False) -> Iterator[Item]:
        """Yield this item and the items in it, outer ones first, of all repetitions or of one."""
        yield self
        for each in chain(*self.units) if every and self.units else self.children:
            yield from each.inside(every=every)

    def leaves(self, *, every: bool = False) -> Iterator[Item]:
        """Yield the items with a node."""
        return (each for each in self.inside(every=every) if each.node is not None)

    def frames(self) -> list[Item]:
        """Return this frame and the frames in it, outer ones first."""
        return [each for each in self.inside() if each.node is None]

    def visible(self) -> list[Item]:
        """Return the items in open frames, and the open frames."""
        return [
            x
            for x in self.inside()
            if x is not self and not any(each.is_closed for each in x.parents())
        ]

    def parents(self) -> list[Item]:
        """Return the frames around the item, inner ones first."""
        return [] if self.parent is None else [self.parent, *self.parent.parents()]

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays of all repetitions by name, each array once."""
        return arrays_of(each.node for each in self.leaves(every=True) if each.node is not None)

    @cached_property
    def weights(self) -> int:
        """Number of weights of all repetitions."""
        return sum(map(prod, self.arrays.values()))

    @property
    def has_matrices(self) -> bool:
        """Whether some array is not a vector."""
        return any(len(shape) > 1 for shape in self.arrays.values())

    def same(self) -> object:
        """Return a value that is equal for items of the same kind, children and array sizes."""
        if self.node is not None:
            return self.kind, self.name, tuple(self.words), tuple(map(tuple, self.node["sizes"]))
        return self.name, self.method, self.times, tuple(each.same() for each in self.children)


def arrays_of(nodes: Iterable[Node]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of nodes by name, each array once."""
    return dict(chain(*(zip(each["arrays"], each["sizes"], strict=True) for each in nodes)))


# The recorded graph.


def tree_of(structure: Mapping[str, Any]) -> tuple[Item, Edges]:
    """Return the tree of a recorded structure, and the edges between its leaves.

    Without any edge, as in a record of arrays only, each node is followed by the next one.
    """
    nodes: dict[int, Node] = {each["id"]: dict(each) for each in structure["nodes"]}
    edges: Edges = {(a, b): shape for a, b, shape in structure["edges"]}
    edges = edges or dict.fromkeys(zip(nodes, [*nodes][1:], strict=False), ())
    labels = [x for x in edges if nodes[x[0]]["kind"] == "input" and nodes[x[1]]["name"] in LOSSES]
    edges = {each: shape for each, shape in edges.items() if each not in labels}
    for index in [i for i, x in nodes.items() if not x["arrays"] and x["name"] in PASSED]:
        pass_through(index, nodes, edges)
    fed = {a for a, _ in edges}
    nodes = {i: each for i, each in nodes.items() if each["kind"] != "input" or i in fed}
    edges = {each: shape for each, shape in edges.items() if {*each} <= {*nodes}}
    join_norms(structure["frames"], nodes, edges)
    chips = chips_of(nodes, edges)
    if structure["edges"]:
        add_outputs(structure["frames"], nodes, edges)
    root = unwrapped(Item("frame", "", children=items_in(-1, structure["frames"], nodes, chips)))
    into = defaultdict[int, list[int]](list)
    for a, b in edges:
        into[b].append(a)
    fold(root, into)
    set_parents(root)
    return root, edges


def add_outputs(frames: Sequence[Mapping[str, Any]], nodes: dict[int, Node], edges: Edges) -> None:
    """Add an item behind each result of a model that no other followed model takes."""
    models = {-1: -1}  # the outermost frame around each frame
    for index, each in enumerate(frames):
        models[index] = index if each["parent"] < 0 else models[each["parent"]]
    taken = {a for a, b in edges if models[nodes[a]["frame"]] != models[nodes[b]["frame"]]}
    made = [i for i, each in nodes.items() if each["out"] and each["kind"] != "input"]
    for each in [nodes[i] for i in made if i not in taken]:
        index = 1 + max(nodes)
        nodes[index] = {
            **dict.fromkeys(("arrays", "sizes", "shared", "ways", "within"), ()), "id": index,
            "kind": "output", "name": text("structure.out"), "path": "", "frame": -1,
            "times": 1, "out": False, "settings": {}, "shape": each["shape"],
        }  # fmt: skip
        edges[each["id"], index] = each["shape"]


def pass_through(index: int, nodes: dict[int, Node], edges: Edges) -> None:
    """Remove a node; edges into it lead to the nodes after it."""
    before = [a for a, b in edges if b == index]
    after = [b for a, b in edges if a == index]
    for a in before:
        nodes[a]["out"] |= nodes[index]["out"]
        nodes[a]["shape"] = nodes[index]["shape"] or nodes[a]["shape"]
        edges.update({(a, b): edges[a, index] for b in after if a != b})
    for edge in [each for each in edges if index in each]:
        del edges[edge]
    del nodes[index]


def merge(first: int, rest: Sequence[int], nodes: dict[int, Node], edges: Edges) -> None:
    """Join nodes to the first one, which gets their edges and the shape of the last one."""
    for index in rest:
        nodes[first] |= {"out": nodes[first]["out"] or nodes[index]["out"]}
        nodes[first] |= {"shape": nodes.pop(index)["shape"]}
    for (a, b), shape in [*edges.items()]:
        if a in rest or b in rest:
            del edges[a, b]
            a, b = (first if each in rest else each for each in (a, b))
            edges.update({(a, b): shape} if a != b else {})


def join_norms(frames: Sequence[Mapping[str, Any]], nodes: dict[int, Node], edges: Edges) -> None:
    """Join the nodes of each small module that has only vectors, such as a norm, to one node."""
    parents = {each["parent"] for each in frames}
    for number, frame in enumerate(frames):
        inside = [i for i, each in nodes.items() if each["frame"] == number]
        arrays = arrays_of(nodes[i] for i in inside)
        is_small = 1 < len(inside) <= NORM and number not in parents
        if arrays and is_small and all(len(shape) == 1 for shape in arrays.values()):
            merge(inside[0], inside[1:], nodes, edges)
            nodes[inside[0]] |= {
                "kind": "module", "name": frame["kind"], "path": frame["path"],
                "frame": frame["parent"], "within": frame["within"], "shared": [], "ways": [],
                "arrays": [*arrays], "sizes": [*arrays.values()],
            }  # fmt: skip


def words_of(node: Node, after: Iterable[Node] = ()) -> list[str]:
    """Return the words of a function, with its factor or its number of heads if it has several.

    A softmax is attention if a product with values comes after it.
    """
    name, settings = NAMES.get(node["name"], node["name"].replace("_", " ")), node["settings"]
    if "by" in settings:
        return [f"{name} {settings['by']:g}".replace("0.", ".")]
    is_attention = name == "attention" or any(each["name"] == "@" for each in after)
    count = settings.get("heads", 1) if is_attention else 1
    return [*name.split(), *([text("structure.heads", count=count)] if count > 1 else [])]


def chips_of(nodes: dict[int, Node], edges: Edges) -> dict[int, list[str]]:
    """Return the words of each function without arrays.

    A function that is the only one to read another function is joined to it, and removed from
    nodes and edges.
    """
    chips = {
        i: words_of(x, [nodes[b] for a, b in edges if a == i])
        for i, x in nodes.items()
        if x["kind"] != "input" and not x["arrays"]
    }
    for index in sorted(chips):
        while index in chips and chips[index][0] not in SIGNS and nodes[index]["kind"] != "noise":
            after = [b for a, b in edges if a == index]
            alone = (
                len(after) == 1 and after[0] in chips and [b for _, b in edges].count(after[0]) == 1
            )
            if not alone or after[0] == index or not joins(nodes[index], nodes[after[0]]):
                break
            chips[index] += chips.pop(after[0])
            merge(index, after, nodes, edges)
    return chips


def joins(one: Node, other: Node) -> bool:
    """Return whether two successive functions share a chip."""
    is_alike = (one["frame"], one["within"]) == (other["frame"], other["within"])
    is_sign = other["name"] in SIGNS and "by" not in other["settings"]
    kinds = one["out"] or other["arrays"] or other["kind"] == "noise" or other["name"] in LOSSES
    return is_alike and not is_sign and not kinds and words_of(other)[0] not in SIGNS


# Frames.


def items_in(
    number: int,
    frames: Sequence[Mapping[str, Any]],
    nodes: Mapping[int, Node],
    chips: Mapping[int, list[str]],
) -> list[Item]:
    """Return the items in a frame, or at the top for -1, in the order of their calls."""
    placed = [
        ((index, 1), leaf_of(node, chips.get(index, [])))
        for index, node in nodes.items()
        if node["frame"] == number
    ]
    for index, frame in enumerate(frames):
        if frame["parent"] == number and (inner := items_in(index, frames, nodes, chips)):
            placed.append(((frame["first"], 0), frame_of(frame, inner)))
    found = [item for _, item in sorted(placed, key=lambda each: each[0])]
    return with_methods(found, frames[number]["path"] if number >= 0 else "")


def frame_of(frame: Mapping[str, Any], items: list[Item]) -> Item:
    """Return the item of a frame, which is the item in it if it has a single one."""
    if len(items) > 1:
        return Item("frame", frame["kind"], frame["path"], children=items, within=frame["within"])
    [only] = items
    only.path, only.within = frame["path"] or only.path, frame["within"]
    if only.kind == "frame" and frame["kind"] not in ("", "Sequential"):
        only.name, only.method = frame["kind"], ""
    return only


def leaf_of(node: Node, words: list[str]) -> Item:
    """Return the item of a node; `words` are the words of a function."""
    is_end = node["kind"] in ("input", "output")
    kind = node["kind"] if is_end else "wall" if node["arrays"] else "function"
    path = node["path"] or (node["arrays"][0] if node["arrays"] else "")
    if is_end:
        size = "×".join(map(str, node["shape"])) if kind == "output" else ""
        words = [node["name"], *([size] if size else [])]
    return Item(kind, node["name"], path, node, node["id"], words=words, within=node["within"])


def with_methods(children: list[Item], path: str) -> list[Item]:
    """Return the children with frames around those that a method of the module called."""
    groups = [[*x] for _, x in groupby(children, lambda each: tuple(each.within) or id(each))]
    if len(groups) == 1:
        return children
    found: list[Item] = []
    for group in groups:
        is_one = group[0].within and len(group) > 1 + (not any(x.weights for x in group))
        method = group[0].within[0] if is_one else ""
        found += [Item("frame", "", path, children=group, method=method)] if is_one else group
    return found


def unwrapped(root: Item) -> Item:
    """Return the tree without a frame around the whole model; the root gets its name."""
    while True:
        inner = [each for each in root.children if each.kind == "frame"]
        rest = [each for each in root.children if each.kind != "frame"]
        if len(inner) != 1 or any(each.kind == "wall" for each in rest):
            return root
        before = [each for each in rest if each.kind == "input"]
        after = [each for each in rest if each.kind != "input"]
        children = [*before, *inner[0].children, *after]
        root = Item("frame", inner[0].name, inner[0].path, children=children)


# Repetitions.


def fold(frame: Item, into: Into) -> None:
    """Replace each run of equal siblings by one item with a number of repetitions."""
    for each in frame.children:
        fold(each, into)
    children, found, start = frame.children, list[Item](), 0
    keys = [each.same() for each in children]
    while start < len(children):
        size, times = best_run(children, keys, start, into)
        units = [children[start + i * size :][:size] for i in range(times)]
        found.append(repeated(units) if times > 1 else units[0][0])
        start += size * times
    frame.children = found
    if len(found) == 1 and found[0].units and not frame.units:  # the frame is its repetitions
        only = found[0]
        frame.name, frame.path, frame.method = only.name, only.path, only.method
        frame.children, frame.units = only.children, only.units


def repeated(units: list[list[Item]]) -> Item:
    """Return the item of equal groups; of groups of a single frame, the children are the groups."""
    first, name, method = units[0][0], "", ""
    if len(units[0]) == 1 and first.node is None and not first.units:
        name, method = first.name, first.method
        units = [unit[0].children for unit in units]
    return Item(
        "frame", name, first.path, children=units[0], units=units, method=method,
        within=first.within,
    )  # fmt: skip


def best_run(
    children: Sequence[Item], keys: Sequence[object], start: int, into: Into
) -> tuple[int, int]:
    """Return the size of a group and how often it follows itself; (1, 1) if it does not."""
    best = 1, 1
    for size in range(1, LONGEST + 1):
        group = keys[start : start + size]
        times = next(i for i in count(1) if keys[start + i * size :][:size] != group)
        if not any(each.weights for each in children[start : start + size]):
            continue
        units = [wires(children, start, size, unit, into) for unit in range(times)]
        while times >= FEWEST and not alike(units[:times]):
            times -= 1
        if times >= FEWEST and size * times > best[0] * best[1]:
            best = size, times
    return best


def wires(
    children: Sequence[Item], start: int, size: int, unit: int, into: Into
) -> set[tuple[int, int, int]]:
    """Return the edges into a group of siblings.

    Each has the group of its start, 0 for this one, -1 for the one before, 1 for others, and the
    numbers of both leaves in their groups.
    """
    places: dict[int, tuple[int, int]] = {}
    for before in (-1, 0) if unit else (0,):
        group = children[start + (unit + before) * size :][:size]
        leaves = [leaf.id for each in group for leaf in each.leaves(every=True)]
        places |= {leaf: (before, number) for number, leaf in enumerate(leaves)}
    ends = [(places.get(a, (1, 0)), place) for b, place in places.items() for a in into.get(b, ())]
    return {(*one, number) for one, (group, number) in ends if group == 0}


def alike(units: Sequence[set[tuple[int, int, int]]]) -> bool:
    """Return whether successive groups have the same edges; the first one, only within it."""
    inner = {each for each in units[1] if each[0] == 0}
    first = {each for each in units[0] if each[0] == 0}
    return first == inner and all(each == units[1] for each in units[2:])


def set_parents(frame: Item) -> None:
    for each in chain(frame.children, *frame.units):
        each.parent = frame
        set_parents(each)
