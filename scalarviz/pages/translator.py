"""Translate Python to JavaScript: the modules of scalarviz/story for pages.

    The command writes the modules of SOURCES into a folder:

    python -m scalarviz.pages.translator FOLDER

docs/TRANSLATOR.md describes the supported subset of Python: functions and data classes that use
numbers, strings and containers. Unsupported code is rejected with its file and line.
"""

from __future__ import annotations

import ast
import os
import posixpath
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from scalarviz.base.package_files import PACKAGE
from scalarviz.pages.translated_expressions import (
    ATOM,
    Class,
    Expressions,
    Meaning,
    Refused,
    Scope,
    Signature,
    check,
    js_name,
    signature_of,
    text_of,
    type_text,
)

# The generated modules of a page, and their Python sources, sorted by their imports.
SOURCES = {
    "story/decimals.js": "base/texts/decimals.py",
    "story/sums.js": "base/texts/sums.py",
    "story/formats.js": "story/formats.py",
    "story/facts.js": "story/facts.py",
    "story/update.js": "story/update.py",
    "story/caption.js": "story/caption.py",
    "story/names.js": "story/names.py",
    "story/traced_weight.js": "story/traced_weight.py",
    "story/panel_words.js": "story/panel_words.py",
    "story/trial.js": "story/trial.py",
    "story/equations.js": "story/equations.py",
    "story/reason.js": "story/reason.py",
    "story/forward_captions.js": "story/forward_captions.py",
    "story/backward_captions.js": "story/backward_captions.py",
    "story/sequence_captions.js": "story/sequence_captions.py",
    "story/captions.js": "story/captions.py",
    "story/cards.js": "story/cards.py",
    "story/weight_card.js": "story/weight_card.py",
    "story/guide.js": "story/guide.py",
    "story/moments.js": "story/moments.py",
    "story/build_link.js": "story/build_link.py",
    "story/journal.js": "story/journal.py",
    "story/scales.js": "base/scales.py",
    "story/judging.js": "story/judging.py",
    "story/branch_names.js": "story/branch_names.py",
    "story/past_places.js": "story/past_places.py",
    "story/past_words.js": "story/past_words.py",
    "story/camera.js": "scene/layout/camera.py",
    "story/plates.js": "scene/layout/plates.py",
    "story/sequence_places.js": "scene/layout/sequence_places.py",
    "story/projection.js": "scene/layout/projection.py",
    "story/picking.js": "scene/visuals/picking.py",
    "story/nearness.js": "scene/visuals/nearness.py",
    "story/dragging.js": "stage/dragging.py",
    "story/ways.js": "scene/layout/ways.py",
    "story/wall_ways.js": "scene/layout/wall_ways.py",
    "story/trays.js": "scene/layout/trays.py",
    "story/crossbar.js": "scene/layout/crossbar.py",
    "story/crossbar_layout.js": "scene/layout/crossbar_layout.py",
    "story/legend.js": "scene/legend.py",
    "story/camera_control.js": "stage/camera_control.py",
    "story/pace.js": "scene/pace.py",
    "story/annotations.js": "scene/annotations.py",
    "story/telling.js": "scene/telling.py",
    "story/blame.js": "scene/blame.py",
    "story/clearest.js": "stage/clearest.py",
    "story/side_panel.js": "scene/side_panel.py",
    "story/first_row.js": "scene/first_row.py",
    "story/loss_chart.js": "scene/loss_chart.py",
    "story/past_charts.js": "scene/past_charts.py",
    "story/written_names.js": "data/written_names.py",
    "story/past_names.js": "scene/past_names.py",
    "story/health_strip.js": "scene/health_strip.py",
    "story/scalar_charts.js": "scene/scalar_charts.py",
    "story/metric_functions.js": "core/formulas/metric_functions.py",
    "story/hands.js": "scene/hands.py",
    "story/focus.js": "scene/focus.py",
    "story/cube_numbers.js": "scene/cube_numbers.py",
    "story/crossbar_marks.js": "scene/crossbar_marks.py",
    "story/crossbar_ink.js": "scene/crossbar_ink.py",
    "story/marks.js": "scene/marks.py",
    "story/formula_marks.js": "scene/formula_marks.py",
    "story/tray_card.js": "scene/tray_card.py",
    "story/wall_lines.js": "scene/wall_lines.py",
    "story/labels.js": "scene/labels.py",
    "story/diagram.js": "scene/diagram.py",
    "story/probe_maps.js": "scene/probe_maps.py",
    "story/sequence_ways.js": "scene/sequence_ways.py",
    "story/sequence_sheet.js": "scene/sequence_sheet.py",
    "story/sequence_head.js": "scene/sequence_head.py",
    "story/sequence_lines.js": "scene/sequence_lines.py",
    "story/sequence_neuron.js": "scene/sequence_neuron.py",
    "story/sequence_blame.js": "scene/sequence_blame.py",
    "story/sequence_picture.js": "scene/sequence_picture.py",
    "story/sequence_choice.js": "scene/sequence_choice.py",
    "story/opened_rows.js": "scene/opened_rows.py",
    "story/callout.js": "scene/callout.py",
    "story/long_rows.js": "scene/long_rows.py",
    "story/held.js": "scene/held.py",
    "story/drawn_lines.js": "scene/drawn_lines.py",
    "story/why.js": "scene/exhibits/why.py",
}
# Manually written parts of page modules, by Python module.
TEXTS = {
    "text": Signature(("key",), 1, fields=True, result="str"),
    "plural": Signature(("key", "count"), 2, fields=True, result="str"),
}
PAINTED = "canvas", "theme"
SHARED = Signature(("scales", "steps", "values"), 3, fields=True)
BY_HAND = {
    "scalarviz.core.formulas.metric_arrays": (
        "metric_arrays.js",
        {
            "areas": Meaning("function", signature=Signature(result="list[float]")),
            "centered": Meaning("function", signature=Signature(result="FloatArray")),
            "largest_of": Meaning("function", signature=Signature(result="FloatArray")),
            "mean": Meaning("function", signature=Signature(result="float")),
            "totals": Meaning("function", signature=Signature(result="list[float]")),
        },
    ),
    "scalarviz.base.texts": (
        "texts.js",
        {name: Meaning("function", signature=each) for name, each in TEXTS.items()},
    ),
    "scalarviz.scene.curve_points": (
        "curve_points.js",
        {
            "count_up_to": Meaning("function", signature=Signature(result="int")),
            "curve_pixels": Meaning("function", signature=SHARED),
            "distance": Meaning("function", signature=Signature(result="float")),
            "draw_thin": Meaning("function"),
            "finite_between": Meaning("function", signature=Signature(result="FloatArray")),
            "mean_height": Meaning("function", signature=Signature(result="float")),
            "pixels": Meaning("function", signature=SHARED),
            "shown_between": Meaning("function", signature=Signature(result="FloatArray")),
            "value_at": Meaning("function", signature=Signature(result="float")),
        },
    ),
    "scalarviz.scene.past_images": (
        "past_images.js",
        {
            "draw_probe_map": Meaning("function"),
            "draw_shades": Meaning("function"),
            "draw_tiles": Meaning("function"),
        },
    ),
    "scalarviz.scene.layout.threads": (
        "threads.js",
        {name: Meaning("function") for name in ("said_to", "thread_of")},
    ),
    "scalarviz.scene.layout.points": (
        "projection.js",
        {
            "dot3": Meaning("function", signature=Signature(result="float")),
            "minus3": Meaning("function", signature=Signature(result="tuple[float, ...]")),
            "points3": Meaning("function", signature=Signature(result="FloatArray")),
            "reach_of": Meaning("function"),
            "row3": Meaning("function", signature=Signature(result="list[float]")),
            "sphere_on": Meaning("function", signature=Signature(result="tuple")),
            "square_on": Meaning("function", signature=Signature(result="tuple")),
            "vector": Meaning("function", signature=Signature(result="FloatArray")),
        },
    ),
    "scalarviz.scene.cube_faces": (
        "cube_faces.js",
        {
            "CubeFaces": Meaning(
                "class",
                signature=Signature(("see", "frame_data", "first", "scale", "least"), 5),
            )
        },
    ),
    "scalarviz.scene.neuron_images": (
        "neuron_images.js",
        {"draw_fields": Meaning("function"), "draw_inputs": Meaning("function")},
    ),
    "scalarviz.scene.canvas.palette": (
        "palette.js",
        {
            name: Meaning("function", signature=Signature(result="str"))
            for name in ("mixed", "with_opacity")
        },
    ),
    "scalarviz.scene.overlay": ("small_cubes.js", {"draw_cubes": Meaning("function")}),
    "scalarviz.scene.lights": (
        "lights.js",
        {"masks_at": Meaning("function"), "places_of": Meaning("function")},
    ),
    "scalarviz.scene.lines": (
        "lines.js",
        {
            "LinePaint": Meaning("class", signature=Signature(("canvas", "theme"), 2)),
            "carried": Meaning("function", signature=Signature(result="Carried")),
            "depths_at": Meaning("function", signature=Signature(result="tuple[float, ...]")),
            "draw_signed": Meaning("function"),
            "draw_tubes": Meaning(
                "function",
                signature=Signature((*PAINTED, "starts", "ends", "amounts"), 5, fields=True),
            ),
            "seen_fans": Meaning("function", signature=Signature(result="list[SeenFan]")),
        },
    ),
    "scalarviz.scene.silhouettes": (
        "silhouettes.js",
        {
            "balls_of": Meaning("function", signature=Signature(result="list[Ball]")),
            "cubes_seen": Meaning("function", signature=Signature(result="list[list[Ball]]")),
            "is_on": Meaning("function", signature=Signature(result="bool")),
            "polygons_seen": Meaning("function"),
            "share_under": Meaning("function", signature=Signature(result="float")),
            "spheres_in_sight": Meaning("function"),
        },
    ),
}
LIBRARIES = ("math", "re", "dataclasses", "functools", "itertools", "contextvars")
TYPES = ("__future__", "typing", "collections.abc")
DATACLASSES = {
    "dataclass",
    "dataclass(eq=False)",
    "dataclass(frozen=True)",
    "dataclass(frozen=True, eq=False)",
    "dataclass(frozen=True, slots=True)",
}
ARRAYS = {"FloatArray", "Places", "slice"}  # types missing in JavaScript
# Methods of web/paper.js, which receive keyword arguments as an object.
CANVAS = {
    "arrows": Signature(("start", "end", "color"), 3, fields=True),
    "box": Signature(("x", "y", "width", "height", "fill"), 5, fields=True),
    "clip": Signature(("x", "y", "width", "height"), 4),
    "discs": Signature(("xy", "radius", "fill"), 3, fields=True),
    "fit": Signature(("words", "width"), 2, fields=True, result="str"),
    "line": Signature(("points", "color"), 2, fields=True),
    "measure": Signature(("words",), 1, fields=True, result="float"),
    "segments": Signature(("start", "end", "color"), 3, fields=True),
    "text": Signature(("x", "y", "words"), 3, fields=True, result="float"),
    "texts": Signature(("xy", "words"), 2, fields=True),
    "widest": Signature(("texts",), 1, fields=True, result="float"),
}
# Fields of classes that are written by hand in both languages.
FIELDS = {
    "Canvas2D": dict.fromkeys(("scale", "width", "height"), "float"),
    "Carried": {
        "values": "list[float]",
        "terms": "list[list]",
        "halves": "list[list]",
        "summed": "bool",
        "most": "float",
    },
    "FrameData": {"layout": "Layout", "part": "float", "names_row": "bool"},
    "LinePaint": {"canvas": "Canvas2D"},
}
FACTORIES = {
    "field(default_factory=list)": "[]",
    "field(default_factory=dict)": "new py.Dict()",
    "field(default_factory=set)": "py.set()",
    "field(default_factory=nothing)": "[]",  # an array
}


class TranslationError(ValueError):
    """Raised if a Python module cannot be translated, with the file, the line and the reason."""


# ---- names in statements -------------------------------------------------------------------------


@cache
def names_bound(node: ast.AST) -> tuple[str, ...]:
    """Return the names that a statement binds, once for each time, without nested functions."""
    match node:
        case ast.FunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
            return (name,)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.Lambda():
            return ()
    return tuple(name for each in ast.iter_child_nodes(node) for name in names_bound(each))


def names_in(*nodes: ast.AST) -> Counter[str]:
    """Return how often each name occurs in nodes, including nested functions."""
    return Counter(x.id for node in nodes for x in ast.walk(node) if isinstance(x, ast.Name))


def is_set_by(node: ast.stmt, name: str) -> bool:
    """Return whether a statement is `name = ...` and its value does not use the name."""
    match node:
        case ast.FunctionDef():
            return node.name == name
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return name in names_bound(node) and name not in names_in(value)
    return False


# ---- modules -------------------------------------------------------------------------------------


@cache
def translated() -> Mapping[str, str]:
    """Translate all modules of SOURCES; return their JavaScript by name."""
    return translate({name: (path, source_of(path)) for name, path in SOURCES.items()})


def source_of(path: str) -> str:
    return (PACKAGE / path).read_text(encoding="utf-8")


def translate(sources: Mapping[str, tuple[str, str]]) -> Mapping[str, str]:
    """Translate Python modules; return their JavaScript by name.

    Args:
        sources: path in scalarviz/ and Python source for each name; imported modules come first

    Raises:
        TranslationError: if a module contains unsupported code.
    """
    trees = {name: ast.parse(text) for name, (_, text) in sources.items()}
    nodes = [node for tree in trees.values() for node in tree.body]
    classes = {node.name: class_of(node) for node in nodes if isinstance(node, ast.ClassDef)}
    classes |= {name: Class(types) for name, types in FIELDS.items()}
    classes["Canvas2D"] = Class(FIELDS["Canvas2D"], CANVAS)
    known: dict[str, tuple[str, Scope]] = {**BY_HAND}
    made = {}
    for name, (path, _) in sources.items():
        module = Translation(name, path, trees[name].body, classes, known)
        made[name] = module.text()
        home = "scalarviz." + path.removesuffix(".py").replace("/", ".")
        known[home] = name, module.top
    names_bound.cache_clear()
    return made


def class_of(node: ast.ClassDef) -> Class:
    types = {
        each.target.attr: type_text(each.annotation)
        for each in ast.walk(node)
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Attribute)
    }
    methods: dict[str, Signature] = {}
    for each in node.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name)):
                types[name] = type_text(each.annotation)
            case ast.FunctionDef(name=name, decorator_list=[_, *_]):
                types[name] = type_text(each.returns)
            case ast.FunctionDef(name=name):
                methods[name] = signature_of(each, skips=True)
    return Class(types, methods)


def constructor_of(node: ast.ClassDef, known: Class) -> Signature:
    """Return the signature of a class's constructor, from `__init__` or from its fields."""
    names = [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
    made = known.methods.get("__init__", Signature((*names,), len(names)))
    return Signature(made.names, made.positional, made.rest, made.fields, node.name)


class Translation:
    """The translation of one module.

    Attributes:
        name: name of the JavaScript module
        path: path of the Python file
        known: definitions in the modules translated before, by Python module name
        top: meanings of the top-level names
        counts: how often each name is bound in the current function
        uses: how often each name occurs in the current function
    """

    def __init__(
        self,
        name: str,
        path: str,
        body: Sequence[ast.stmt],
        classes: Mapping[str, Class],
        known: Mapping[str, tuple[str, Scope]],
    ) -> None:
        self.name, self.path, self.body, self.known = name, path, body, known
        self.classes, self.top = classes, Scope()
        self.x = Expressions(self.top, classes)
        self.counts: Counter[str] = Counter()
        self.uses: Counter[str] = Counter()
        self.imports: dict[str, str] = {}  # a line for each name

    def text(self) -> str:
        """Return the JavaScript module; raise TranslationError if it contains unsupported code."""
        try:
            for node in self.body:
                self.define(node)
            lines = [line for node in self.body for line in self.at_top(node)]
        except Refused as refused:
            raise TranslationError(f"{self.path}, line {refused.line}: {refused}") from refused
        above = "../" * self.name.count("/")
        imports = [line for name, line in self.imports.items() if name in self.x.used]
        head = [
            f"// Made of scalarviz/{self.path} by scalarviz/pages/translator.py.",
            "// @ts-nocheck: mypy has checked the types of the Python.",
            "",
            f'import * as py from "{above}python.js";',
        ]
        text = "\n".join([*head, *imports, "", *lines, ""])
        return text.replace("\n\n\n", "\n\n").replace("\n}\nexport", "\n}\n\nexport")

    def define(self, node: ast.stmt) -> None:
        """Record what a top-level statement defines or imports."""
        match node:
            case ast.FunctionDef():
                self.top[node.name] = Meaning("function", signature=signature_of(node))
            case ast.ClassDef():
                made = constructor_of(node, self.classes[node.name])
                self.top[node.name] = Meaning("class", signature=made)
            case ast.AnnAssign() if not has_arrays(node.annotation):
                self.x.bind(node.target, type_text(node.annotation))
            case ast.Assign(targets=[ast.Name(id=name)]) if is_type(node):
                self.top[name] = Meaning("type")
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, value in zip(names, values, strict=True):
                    self.x.bind(target, self.x.type_of(value))
            case ast.Assign(targets=[target]):
                self.x.bind(target, self.x.type_of(node.value))
            case ast.Import():
                self.top |= {each.name: Meaning("library", name=each.name) for each in node.names}
            case ast.ImportFrom(module=str(home)):
                for each in node.names:
                    self.top[each.asname or each.name] = self.imported(home, each)

    def imported(self, home: str, alias: ast.alias) -> Meaning:
        """Return what an imported name refers to, and record its import line."""
        if home in LIBRARIES:
            return Meaning("library", name=f"{home}.{alias.name}")
        if home in TYPES:
            return Meaning("type")
        name = alias.asname or alias.name
        module, top = self.known.get(home, ("", Scope()))
        path = posixpath.relpath(module or ".", posixpath.dirname(self.name))
        words = js_name(alias.name) + (f" as {js_name(name)}" if alias.asname else "")
        place = path if path.startswith(".") else f"./{path}"
        self.imports[name] = f'import {{ {words} }} from "{place}";'
        return top.get(alias.name, Meaning("elsewhere", name=home))

    def at_top(self, node: ast.stmt) -> list[str]:
        """Return the lines of a top-level statement in JavaScript, with exports."""
        match node:
            case (
                ast.Import()
                | ast.ImportFrom()
                | ast.Expr(value=ast.Constant())
                | ast.If(test=ast.Name(id="TYPE_CHECKING"))
            ):
                return []
            case ast.FunctionDef():
                check(not node.decorator_list, node, "a decorator of a function is not known")
                return [
                    "",
                    *comment(node),
                    *self.function(node, "export function", js_name(node.name)),
                ]
            case ast.ClassDef():
                return ["", *comment(node), *self.class_lines(node)]
            case ast.AnnAssign(annotation=kind) if has_arrays(kind):
                return []
            case ast.Assign() | ast.AnnAssign():
                names = {*names_bound(node)}
                self.counts.update(names)
                lines = [] if is_type(node) else self.statement(node, names)
                return [f"export {line}" for line in lines]
        raise Refused(node, "only imports, constants, functions and classes stand at the top")

    # ---- blocks ----

    def block(self, body: Sequence[ast.stmt]) -> list[str]:
        return [line for each in body for line in self.statement(each, set())]

    def statement(self, node: ast.stmt, fresh: set[str]) -> list[str]:
        """Return the lines of a statement in JavaScript; it declares the names in `fresh`."""
        try:
            return self.lines_of(node, fresh)
        except Refused as refused:
            refused.line = refused.line or node.lineno
            raise

    def lines_of(self, node: ast.stmt, fresh: set[str]) -> list[str]:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []
            case ast.Expr():
                return [f"{self.x.write(node.value)};"]
            case ast.Return(value=value):
                return [f"return {self.x.write(value) if value else 'null'};"]
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=ast.Attribute() as target, value=ast.expr() as value)
            ):
                return self.assigned(target, value, fresh)
            case ast.AnnAssign():
                self.x.bind(node.target, type_text(node.annotation))
                return self.assigned(node.target, node.value, fresh) if node.value else []
            case ast.AugAssign():
                return self.augmented(node)
            case ast.If():
                return self.branches(node)
            case ast.For(orelse=[]):
                return self.loop(node)
            case ast.While(orelse=[]):
                return self.braced(f"while ({self.x.test(node.test)})", node.body)
            case ast.Break() | ast.Continue():
                return [f"{type(node).__name__.lower()};"]
            case ast.Try(orelse=[]):
                return self.attempt(node)
            case ast.With(
                items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)]
            ):
                lines = [f"py.within.push({self.x.write(call)});", *self.braced("try", node.body)]
                return [*lines[:-1], "} finally {", "  py.within.pop()();", "}"]
            case ast.Raise(exc=ast.Call() as error):
                return [f"throw {self.x.write(error)};"]
            case ast.Assert():
                why = self.x.write(node.msg) if node.msg else text_of(ast.unparse(node.test))
                return [f"if (!{self.x.test(node.test, ATOM)}) throw new py.AssertionError({why});"]
            case ast.FunctionDef(decorator_list=[]):
                self.x.scopes[-1][node.name] = Meaning("function", signature=signature_of(node))
                head = f"{self.declare({node.name}, fresh)}{js_name(node.name)} ="
                return [*self.function(node, head)[:-1], "};"]
        words = ast.unparse(node).partition("\n")[0]
        has_else = " ... else" if getattr(node, "orelse", None) else ""
        raise Refused(node, f"`{words}{has_else}` is not known")

    def braced(self, head: str, body: Sequence[ast.stmt]) -> list[str]:
        return [f"{head} {{", *indented(self.block(body)), "}"]

    def branches(self, node: ast.If) -> list[str]:
        lines = self.braced(f"if ({self.x.test(node.test)})", node.body)
        if not node.orelse:
            return lines
        others = self.braced("else", node.orelse)
        if len(node.orelse) == 1 and others[1].startswith("  if "):
            others = [f"else {others[1][2:]}", *(line[2:] for line in others[2:-1])]
        return [*lines[:-1], f"}} {others[0]}", *others[1:]]

    def loop(self, node: ast.For) -> list[str]:
        is_set = {*names_bound(node.target)} & {n for each in node.body for n in names_bound(each)}
        way = "" if not self.has_alone(node) else "let " if is_set else "const "
        found = self.x.each(node.iter)
        head = f"for ({way}{self.x.bind_loop(node.target, node.iter)} of {found})"
        return self.braced(head, node.body)

    def has_alone(self, node: ast.For) -> bool:
        """Return whether the names of a loop are used only inside this loop."""
        inside = names_in(node.target, *node.body)
        return all(inside[name] == self.uses[name] for name in names_bound(node.target))

    def attempt(self, node: ast.Try) -> list[str]:
        """Return the lines of a try statement in JavaScript."""
        lines = self.braced("try", node.body)
        chain: list[str] = []
        for each in node.handlers:
            kinds = each.type.elts if isinstance(each.type, ast.Tuple) else [each.type]
            check(each.type, each, "an `except` names its errors")
            tests = [f"caught instanceof {self.x.write(kind)}" for kind in kinds if kind]
            name = [f"const {js_name(each.name)} = caught;"] if each.name else []
            self.x.scopes[-1] |= {each.name: Meaning()} if each.name else {}
            body = indented([*name, *self.block(each.body)])
            chain += [f"{'} else ' if chain else ''}if ({' || '.join(tests)}) {{", *body]
        if chain:
            chain += ["} else {", "  throw caught;", "}"]
            lines = [*lines[:-1], "} catch (caught) {", *indented(chain), "}"]
        if node.finalbody:
            lines = [*lines[:-1], *self.braced("} finally", node.finalbody)]
        return lines

    # ---- assignments ----

    def declare(self, names: set[str], fresh: set[str]) -> str:
        """Return how to declare names: "const ", "let ", or "" if they are already declared."""
        is_const = all(self.counts[name] == 1 for name in names)
        return "" if not names & fresh else "const " if is_const else "let "

    def assigned(self, target: ast.expr, value: ast.expr, fresh: set[str]) -> list[str]:
        names = {*names_bound(target)}
        match target, value:
            case ast.Tuple(elts=parts), ast.Tuple(elts=values) if names <= fresh:
                pairs = zip(parts, values, strict=True)
                return [line for pair in pairs for line in self.assigned(*pair, fresh)]
            case ast.Tuple(elts=parts), _ if {*map(type, parts)} == {ast.Name}:
                made = f"{self.x.bind(target, self.x.type_of(value))} = {self.x.each(value)};"
            case _:
                made = self.set_to(target, self.x.write(value), self.x.type_of(value))
        if names <= fresh:
            return [f"{self.declare(names, fresh)}{made}"]
        return [*(f"let {js_name(name)};" for name in sorted(names & fresh)), made]

    def set_to(self, target: ast.expr, made: str, kind: str = "") -> str:
        """Return an assignment to a name, a field or an item in JavaScript."""
        match target:
            case ast.Name():
                return f"{self.x.bind(target, kind)} = {made};"
            case ast.Attribute():
                return f"{self.x.write(target.value, ATOM)}.{target.attr} = {made};"
            case ast.Subscript(slice=place) if not isinstance(place, ast.Slice):
                return f"py.put({self.x.list_of([target.value, place])}, {made});"
        raise Refused(target, f"an assignment to `{ast.unparse(target)}` is not known")

    def augmented(self, node: ast.AugAssign) -> list[str]:
        is_call = any(isinstance(each, ast.Call) for each in ast.walk(node.target))
        check(not is_call, node, "a call would be made twice: give it a name")
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        made = self.x.operation(node, node.op, read, node.value, in_place="_to")
        return [self.set_to(read, made)]

    # ---- functions and classes ----

    def function(
        self, node: ast.FunctionDef, head: str, name: str = "", *, skips: bool = False
    ) -> list[str]:
        """Return the lines of a function; it is an arrow function if `head` ends with "="."""
        self.x.scopes.append({"self": Meaning()} if skips else {})
        parameters = f"({self.x.parameters(node.args, skips=skips)})"
        before = self.counts, self.uses
        self.counts = Counter(name for each in node.body for name in names_bound(each))
        self.uses = names_in(*node.body)
        loops = [x for each in node.body for x in ast.walk(each) if isinstance(x, ast.For)]
        alone = {name for x in loops if self.has_alone(x) for name in names_bound(x.target)}
        names = sorted({*self.counts} - self.x.scopes[-1].keys() - alone)
        has = [(each, {*names_bound(each), *names_in(each)}) for each in node.body]
        firsts = {name: next(each for each, known in has if name in known) for name in names}
        late = [js_name(name) for name, first in firsts.items() if not is_set_by(first, name)]
        lines = [f"let {', '.join(late)};"] if late else []
        for each in node.body:
            fresh = {name for name in names if firsts[name] is each and is_set_by(each, name)}
            lines += self.statement(each, fresh)
        self.counts, self.uses = before
        self.x.scopes.pop()
        start = f"{head} {name}{parameters}".lstrip() + (" =>" if head.endswith("=") else "")
        return [f"{start} {{", *indented(lines), "}"]

    def class_lines(self, node: ast.ClassDef) -> list[str]:
        """Return the lines of a class, whose constructor takes the fields as arguments."""
        kinds = [ast.unparse(each) for each in node.decorator_list if ast.unparse(each) != "final"]
        check(not node.bases and kinds[1:] == [], node, "a class with a base is not known")
        check(not kinds or kinds[0] in DATACLASSES, node, f"@{kinds} is not known")
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        lines = ["static is_data = true;", "", *self.constructor(fields)] if kinds else []
        self.x.owner = node.name
        for each in node.body:
            match each:
                case (
                    ast.AnnAssign()  # a field
                    | ast.Expr(value=ast.Constant())
                    | ast.FunctionDef(name="__str__")  # these two are for Python prompts
                    | ast.Assign(targets=[ast.Name(id="__repr__")])
                ):
                    pass
                case ast.FunctionDef(args=given, returns=kind) if has_arrays(given, kind):
                    pass  # defined manually in pages
                case ast.FunctionDef():
                    lines += ["", *comment(each), *self.method(each)]
                case _:
                    raise Refused(each, f"`{ast.unparse(each)}` in a class is not known")
        return [f"export class {js_name(node.name)} {{", *indented(lines), "}"]

    def constructor(self, fields: Sequence[ast.AnnAssign]) -> list[str]:
        names = [ast.unparse(each.target) for each in fields]
        parts = [
            f"{js_name(name)} = {FACTORIES.get(ast.unparse(value)) or self.x.write(value)}"
            if value
            else js_name(name)
            for name, value in zip(names, [each.value for each in fields], strict=True)
        ]
        lines = [f"this.{name} = {js_name(name)};" for name in names]
        return [f"constructor({', '.join(parts)}) {{", *indented(lines), "}"]

    def method(self, node: ast.FunctionDef) -> list[str]:
        match node.name, [*map(ast.unparse, node.decorator_list)]:
            case "__init__", []:
                return self.function(node, "constructor", skips=True)
            case name, ["property"]:
                return self.function(node, "get", name, skips=True)
            case name, ["cached_property"]:
                head, *lines = self.function(node, "get", name, skips=True)
                start = f'return py.cached(this, "{name}", () => {{'
                return [head, f"  {start}", *indented(lines[:-1]), "  });", "}"]
            case name, [] if not name.startswith("__"):
                return self.function(node, "", name, skips=True)
        raise Refused(node, f"the method {node.name} is not known")


def has_arrays(*nodes: ast.AST | None) -> bool:
    """Return whether annotations contain types that JavaScript lacks, such as numpy arrays."""
    return bool(ARRAYS & {*names_in(*(each for each in nodes if each))})


def indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" if line else line for line in lines]


def comment(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """Return the docstring of a function or class as the lines of a JavaScript comment."""
    words = (ast.get_docstring(node) or "").replace("*/", "* /").splitlines()
    if len(words) < 2:
        return [f"/** {each} */" for each in words]
    return ["/**", *(f" * {each}".rstrip() for each in words), " */"]


def is_type(node: ast.Assign | ast.AnnAssign) -> bool:
    """Return whether an assignment defines a type, such as `CaptionLine = ...`."""
    name = "".join(names_bound(node))
    return isinstance(node, ast.Assign) and name[:1].isupper() and not name.isupper()


def main(folder: str) -> None:
    """Translate all modules, and write those that have changed into a folder."""
    for name, text in translated().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            new = path.with_suffix(f".{os.getpid()}")  # another process may be reading it
            new.write_text(text, encoding="utf-8")
            new.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name one folder: python -m scalarviz.pages.translator build/look")
    try:
        main(sys.argv[1])
    except OSError as error:
        sys.exit(f"{sys.argv[1]!r} cannot be written to ({error.strerror}): name another folder")
