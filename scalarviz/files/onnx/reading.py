"""Reader of networks in ONNX files: walk the graph, list unsupported parts, build the network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from math import prod
from pathlib import Path

import numpy as np

from scalarviz.base.checks import Shape, matching, require, shorten
from scalarviz.base.limits import Budget
from scalarviz.base.messages import inform
from scalarviz.core.bank import DTYPES
from scalarviz.core.formulas.formula import pick
from scalarviz.core.layers import Slice
from scalarviz.core.layers.parameters import own_parameters
from scalarviz.errors import FileError, InputError, UnknownNameError
from scalarviz.files.atomic import as_path, shown
from scalarviz.files.onnx.flows import (
    Flow,
    LayerStep,
    NodeContext,
    checked,
    nothing,
)
from scalarviz.files.onnx.fusions import fuse, join
from scalarviz.files.onnx.onnx_graph import GraphNode, ModelGraph, Port, read_graph, the_package
from scalarviz.files.onnx.operators import reader
from scalarviz.files.onnx_names import MOST_DIMENSIONS, Names, clean_names
from scalarviz.training.network.network import Network

MOST_TOLD = 40  # lines about unsupported nodes

ZIP_MAP = "ai.onnx.ml.ZipMap"
CLASSIFIER = "ai.onnx.ml.LinearClassifier"  # labels are its first output, scores its second one
# Advice for frequent unsupported operators.
HINTS = {
    "Erf": "export it with opset 20, which has Gelu",
    "If": "export the model in evaluation mode",
    "Neg": "move it into the weights or biases of the neighbouring layer",
}


def load_model(
    path: object,
    train: Sequence[str] | None,
    freeze: Sequence[str] | None,
    dtype: str,
    output: str | None,
    limit: int | None,
) -> Network:
    """Load the network in an ONNX file; see `scalarviz.files.onnx.load`."""
    pick(DTYPES, dtype, "dtype")
    found, budget = as_path(path), Budget(limit)
    the_package()
    try:
        graph = read_graph(found, budget)
        target = end(graph, output)
        shapes, made = walk(graph, target)
    except (FileError, UnknownNameError):
        raise
    except InputError as error:
        raise not_loaded(found, error) from error
    frozen = choose_frozen([p.name for m in flat(made) for p in m.parameters], train, freeze)
    try:
        return build(graph, target, shapes, made, frozen, dtype)
    except InputError as error:
        raise not_loaded(found, error) from error


def name_parts(
    net: Network,
    graph: ModelGraph,
    target: str,
    made: Sequence[LayerStep],
    shapes: Mapping[str, Shape],
) -> None:
    """Store in the network the names that its parts have in the graph, and the sample shape."""
    names: Names = {
        "graph": graph.name,
        "input": "_".join(shapes),
        "inputs": [*shapes],
        "output": target,
        "layers": [each.names for each in made],
    }
    (start, *others), usual = shapes.values(), net.layers[0].input_shape or (net.inputs,)
    if not others and start != usual and len(start) <= MOST_DIMENSIONS:
        names["shape"] = list(start)
    net.names = clean_names(names)
    widths = zip(net.names.pop("inputs"), map(prod, shapes.values()), strict=True)
    net.input_widths = dict(widths) if others else {}


def not_loaded(path: Path, error: InputError) -> FileError:
    """Return the error for a file that cannot be loaded."""
    first, *rest = error.lines
    return FileError(f"{shown(path)} cannot be loaded: {first}", *rest)


# ---- begin and end ------------------------------------------------------------------------------


def end(graph: ModelGraph, output: str | None) -> str:
    """Return the name of the value to compute; raise InputError if inputs are not numeric."""
    require(graph.inputs, "it has no inputs, and a network has some")
    for source in graph.inputs:
        name = shorten(source.name)
        require(source.numbers, f"its input {name} takes no numbers with a fraction")
    if output is not None:
        made = [name for node in graph.nodes for name in node.outputs if name]
        if output not in made:
            raise UnknownNameError("value of the graph", output, made)
        return output
    maps = {node.outputs[:1]: node for node in graph.nodes if node.operator == ZIP_MAP}
    outputs = [
        before_map(maps[port.name,]) if (port.name,) in maps else port.name
        for port in graph.outputs
        if port.numbers or (port.name,) in maps
    ]
    if len(outputs) == 1:
        return outputs[0]
    require(not outputs, f"it has several outputs, {shorten(outputs)}: choose one with output=")
    odd = [(node, unknown(node)) for node in graph.nodes if reader(node.operator) is None]
    raise InputError("it has no output of numbers", *list_of(odd))


def before_map(node: GraphNode) -> str:
    """Return the input of a ZipMap, whose result is a list of maps; log a message."""
    labels = [node.attributes.get(f"classlabels_{kind}") for kind in ("int64s", "strings")]
    inform(
        f"the ZipMap {shorten(node.name)} at the end is left out: the network gives numbers, in "
        f"the order of the labels {shorten(labels[0] or labels[1])}"
    )
    return next(iter(node.inputs), "")


def unknown(node: GraphNode) -> str:
    hint = HINTS.get(node.operator)
    return f"unsupported layer{f': {hint}' if hint else ''}"


def told(found: tuple[GraphNode, str]) -> str:
    return f"    {found[0]}: {found[1]}"


def sample_shape(source: Port) -> tuple[int, ...]:
    """Return the declared shape of one sample."""
    sizes = source.sizes
    require(
        sizes is None or len(sizes) >= 2,
        f"its input {shorten(source.name)} has the shape {shorten(sizes)}, without a batch: "
        "export it with one in front",
    )
    known = tuple(n for n in (sizes or ())[1:] if n is not None)
    if sizes is not None and len(known) == len(sizes) - 1:
        return checked(known)
    raise InputError(
        f"the shape of a sample of its input {shorten(source.name)} is not known, only "
        f"{shorten(sizes)}: export it with fixed sizes"
    )


# ---- the walk -----------------------------------------------------------------------------------


def begin(graph: ModelGraph) -> tuple[dict[str, Shape], dict[str, Flow | None]]:
    """Return the sample shape and the flow of each input; several inputs are slices of one row."""
    shapes = {port.name: sample_shape(port) for port in graph.inputs}
    if len(shapes) == 1:
        (start,) = shapes.values()
        return shapes, dict.fromkeys(shapes, Flow(start, start))
    place, start = 0, (sum(map(prod, shapes.values())),)
    flows: dict[str, Flow | None] = {}
    for name, shape in shapes.items():
        layer = Slice(start[0], place, place + prod(shape))
        size, place = (layer.outputs,), layer.end
        flows[name] = Flow(shape, size, (LayerStep(layer, {"node": name}),))
    return shapes, flows


def is_row(node: GraphNode, shapes: Mapping[str, Shape]) -> bool:
    """Return whether a node concatenates all inputs in their order."""
    return (
        node.operator == "Concat"
        and node.inputs == (*shapes,)
        and node.attributes.get("axis") in (1, -1)
        and all(len(shape) == 1 for shape in shapes.values())
    )


def walk(graph: ModelGraph, target: str) -> tuple[dict[str, Shape], tuple[LayerStep, ...]]:
    """Return the sample shape of each input, and the layers that compute `target`.

    The error lists all unsupported nodes. Without layers, the network gets one identity layer.
    """
    nodes, sizes = fuse(graph, needed(graph, target), target), graph.inputs[0].sizes
    batch = sizes[0] if sizes else None
    shapes, flows = begin(graph)  # a flow is None if it depends on an unsupported node
    row = (sum(map(prod, shapes.values())),)
    odd: list[tuple[GraphNode, str]] = []
    for node in nodes:
        for name in node.outputs:
            flows[name] = None
        usual = int(node.operator == CLASSIFIER)
        try:
            for place, name in enumerate(node.outputs):
                if is_row(node, shapes):
                    flows[name] = Flow(row, row)
                elif name and (place == usual or node.operator == "Split"):
                    flows[name] = run(node, graph, flows, batch, place)
        except InputError as error:
            odd.append((node, str(error)))
    if odd:
        raise InputError(*all_of(odd))
    found = flows.get(target)
    if found is None:
        raise InputError(f"no path leads from its input to {shorten(target)}")
    check_output(graph, target, found)
    return shapes, join(found.settled.steps or (nothing(found.shape),))


def needed(graph: ModelGraph, target: str) -> tuple[GraphNode, ...]:
    """Return the nodes on which a value depends."""
    wanted = {target}
    found = []
    for node in reversed(graph.nodes):
        if wanted.intersection(filter(None, node.outputs)):
            found.append(node)
            wanted.update(node.inputs)
    return tuple(reversed(found))


def run(
    node: GraphNode,
    graph: ModelGraph,
    flows: dict[str, Flow | None],
    batch: int | None,
    place: int,
) -> Flow | None:
    """Return output number `place` of a node, or None if an input is unknown."""
    read = graph.readers.get(node.operator) or reader(node.operator)
    if read is None:
        raise InputError(unknown(node))
    inputs = []
    for name in node.inputs:
        if name in flows and flows[name] is None:
            return None
        if name and name not in flows and name not in graph.constants:
            raise InputError(f"it takes {shorten(name)}, which nothing before it gives")
        inputs.append(flows[name] if name in flows else graph.constants.get(name))
    return read(NodeContext(node, graph.opset, batch, tuple(inputs), graph.budget, place))


def all_of(odd: Sequence[tuple[GraphNode, str]]) -> list[str]:
    """Return the lines of the error that lists all unsupported nodes."""
    count = len(set(map(told, odd)))
    nodes = "1 node has" if count == 1 else f"{count} nodes have"
    return [f"{nodes} no counterpart here; export without, or remove:", *list_of(odd)]


def list_of(odd: Sequence[tuple[GraphNode, str]]) -> list[str]:
    """Return one line per unsupported node, up to MOST_TOLD lines."""
    lines = list(dict.fromkeys(map(told, odd)))
    more = [f"    and {len(lines) - MOST_TOLD} more"] if len(lines) > MOST_TOLD else []
    return [*lines[:MOST_TOLD], *more]


def check_output(graph: ModelGraph, target: str, end: Flow) -> None:
    """Raise InputError if the output shape differs from the declared one."""
    for port in graph.outputs:
        sizes = port.sizes[1:] or (1,) if port.name == target and port.sizes else None
        if sizes is None:
            continue
        fits = len(sizes) == len(end.shape) and all(
            stated in (None, n) for stated, n in zip(sizes, end.shape, strict=True)
        )
        require(
            fits,
            f"its output {shorten(target)} is said to have {shorten(sizes)} numbers a sample, "
            f"and has {shorten(end.shape)}",
        )


# ---- the network --------------------------------------------------------------------------------


def flat(made: Iterable[LayerStep]) -> Iterable[LayerStep]:
    """Yield all layers, including those inside a Residual."""
    for each in made:
        yield each
        yield from flat(each.inner)


def build(
    graph: ModelGraph,
    target: str,
    shapes: Mapping[str, Shape],
    made: Sequence[LayerStep],
    frozen: Set[str],
    dtype: str,
) -> Network:
    """Return the network found by `walk`, with parameters, state and names.

    Args:
        shapes: sample shape of each input
        frozen: names of the frozen parameters
    """
    budget = graph.budget
    once = {each.layer: each for each in flat(made)}
    count = sum(parameter.values.size for each in once.values() for parameter in each.parameters)
    budget.take(np.dtype(dtype).itemsize * count, f"its {count:,} parameters")
    net = Network([each.layer for each in made], dtype=dtype)
    numbers = net.program.workspace
    Budget(budget.limit).take(8 * numbers, f"one sample on its way through {numbers:,} numbers")
    for each in once.values():
        arrays = own_parameters(each.layer)
        for parameter in each.parameters:
            rows = arrays[parameter.role].rows
            with np.errstate(over="ignore"):
                net.bank.value[rows] = parameter.values.ravel()
            require(
                np.isfinite(net.bank.value[rows]).all(),
                f"the numbers {shorten(parameter.name)} do not fit into {dtype}",
            )
            net.bank.frozen[rows] = parameter.held or parameter.name in frozen
        for name, values in each.state.items():
            getattr(each.layer, name)[:] = values
    name_parts(net, graph, target, made, shapes)
    return net


def choose_frozen(
    names: Sequence[str], train: Sequence[str] | None, freeze: Sequence[str] | None
) -> Set[str]:
    """Return the names of the frozen parameters; see `scalarviz.files.onnx.load`.

    Raises InputError if `train` and `freeze` contradict each other.
    """
    learning = None if train is None else matching(names, train, "train")
    kept = None if freeze is None else matching(names, freeze, "freeze")
    if learning is None:
        return kept or frozenset()
    if kept is None:
        return frozenset(names) - learning
    both, none = learning & kept, frozenset(names) - learning - kept
    if both or none:
        which = "both train and freeze name" if both else "neither train nor freeze names"
        one = min(both or none)
        raise InputError(
            f"{which} {shorten(one)}: give one of them, or name each parameter in one of them"
        )
    return kept
