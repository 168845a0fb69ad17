"""The architecture of the package.

Allowed imports, public names, lazy loading, and the files listed in CONTRIBUTING.
"""

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.leaf_calls import LEAF_CALLS
from scalarviz.core.bank import Bank
from scalarviz.core.layers.dense import Dense, PerceptronLayer
from scalarviz.core.layers.layer import Layer
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.value import Value
from scalarviz.core.weight import Part, Weight
from scalarviz.stage.network_layout import layout_of
from scalarviz.training.network.model import Model
from scalarviz.training.network.network import Network
from tests.machine import ROOT, output_of, syntax_of
from tests.wording import refused

PACKAGE = ROOT / "scalarviz"

# A package imports only from those above it, including imports inside functions. A dotted name is a
# separate package.
PACKAGES = """
    base.package_files
    base.messages
    base.near_names
    errors
    base.texts
    base.processes
    base.interrupt
    base.progress
    base.checks
    base.leaf_calls
    base
    scenes
    core.formulas
    core
    core.layers
    nn
    story
    data
    engines.engine
    engines.reference
    engines.codegen
    engines.custom
    engines.python
    engines.cpu
    engines.wasm
    engines.cuda
    engines.expression
    engines
    training.network
    training.session
    training.diagnosis
    training.follow
    training
    files
    files.shaders
    files.onnx
    sweeps
    scene.canvas
    scene.layout
    scene.visuals
    scene.annotations
    scene.exhibits
    scene
    stage.displays
    stage
    pages
    pages.lessons
    faces.scene_file
    faces.scene_options
    faces.links
    faces.controller
    faces.window
    faces.browser
    faces.notebook
    faces.watch
    faces.cli
    faces
    __main__
    __init__
""".split()

# Loaded only on request: each is slow, or missing if its extra is not installed.
HEAVY = (
    "onnx",
    "onnxruntime",
    "sklearn",
    "vispy",
    "PySide6",
    "numba.cuda",
    "numba_cuda",
    "cuda",
    "rich",
    "typer",
    "torch",
    "PIL",
    "IPython",
    "ipywidgets",
)
FOR_FILES = (
    "scalarviz.pages",
    "scalarviz.stage.render",
    "scalarviz.sweeps",
)  # not for a window

ONLY_ON_SOME_SYSTEMS = set(
    "crypt curses fcntl grp msvcrt nis ossaudiodev posix pty pwd readline resource spwd syslog "
    "termios tty winreg winsound _winapi".split()
)

# "The idea in one sitting" of CONTRIBUTING.md: all of these, and their base classes.
IDEA = Value, Bank, Part, Weight, Perceptron, Layer, PerceptronLayer, Dense, Model, Network

FILES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the module name: data.rgb for data/rgb.py, data for data/__init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_name(path): path for path in FILES}


def package_of(module: str) -> str:
    """Return the longest name of PACKAGES that a module begins with."""
    found = [name for name in PACKAGES if f"{module}.".startswith(f"{name}.")]
    assert found, f"{module} is in no package of PACKAGES in tests/test_architecture.py: add one"
    return max(found, key=len)


@dataclass(frozen=True)
class Imported:
    """An import of a module of scalarviz."""

    module: str
    line: int
    typing: bool  # under TYPE_CHECKING, only for type checkers


def module_of(target: str) -> str:
    """Return the file module: in `from scalarviz.core.formulas.losses import mse`, without mse."""
    rest = target.partition(".")[2]
    while rest and rest not in MODULES:
        rest = rest.rpartition(".")[0]
    return rest or "__init__"


def imports_by_name(text: str) -> Iterator[Imported]:
    """Yield modules loaded as `import_module("scalarviz.data.rgb")`, except scenes."""
    for number, line in enumerate(text.splitlines(), 1):
        for target in re.findall(r'import_module\("(scalarviz\.[\w.]+)"', line):
            if module_of(target) != "__init__":
                yield Imported(module_of(target), number, False)


def imports(path: Path, node: ast.AST | None = None, typing: bool = False) -> Iterator[Imported]:
    """Yield all imports from scalarviz in a file."""
    if node is None:
        text = path.read_text(encoding="utf-8")
        node = syntax_of(text)
        yield from imports_by_name(text)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # only found by `imports_by_name`
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.body:
                yield from imports(path, ast.Module([statement], []), True)
            for statement in child.orelse:
                yield from imports(path, ast.Module([statement], []), typing)
            continue
        targets = []
        if isinstance(child, ast.Import):
            targets = [alias.name for alias in child.names]
        elif isinstance(child, ast.ImportFrom):
            package = ["scalarviz", *path.relative_to(PACKAGE).parent.parts]
            above = package[: len(package) - child.level + 1] if child.level else []
            module = ".".join([*above, *([child.module] if child.module else [])])
            targets = [f"{module}.{alias.name}" for alias in child.names]
        for target in targets:
            if target.partition(".")[0] == "scalarviz":
                assert isinstance(child, ast.stmt)
                yield Imported(module_of(target), child.lineno, typing)
        yield from imports(path, child, typing)


@cache
def imports_of(path: Path) -> list[Imported]:
    return list(imports(path))


def test_a_package_imports_only_from_packages_above_it() -> None:
    wrong = []
    for name, path in MODULES.items():
        package = package_of(name)
        for found in imports_of(path):
            where = f"{path.relative_to(ROOT)}:{found.line}"
            if name != "__init__" and found.module == "__init__":
                wrong.append(
                    f"{where} imports from scalarviz itself; inside the package, import from the "
                    "file that defines the name."
                )
            elif runs_the_wrong_way(name, found.module):
                continue  # these are listed below
            elif PACKAGES.index(package_of(found.module)) > PACKAGES.index(package):
                wrong.append(f"{where} imports {found.module}, whose package is below {package}.")
    assert not wrong, "\n".join(wrong)


# Texts may use only `base`; the scene neither training nor engines, and of the texts only captions.


def runs_the_wrong_way(module: str, imported: str) -> bool:
    """Return whether an import leads from story/ or scene/ to a package they must not use."""
    room, other = module.partition(".")[0], imported.partition(".")[0]
    if room == "story":
        return other not in ("story", "base")
    if room == "scene":
        is_known = imported in ("story.caption", "story.facts", "story.panel_words")
        return other in ("story", "engines", "training") and not is_known
    return False


def test_words_and_scene_know_no_more_than_they_need() -> None:
    found = {
        f"{name} -> {each.module}"
        for name, path in MODULES.items()
        for each in imports_of(path)
        if runs_the_wrong_way(name, each.module)
    }
    assert not found, f"run the wrong way: {sorted(found)}"


def test_words_are_made_of_plain_numbers_and_texts() -> None:
    """Pages have the same files in JavaScript: they load no numpy, and only these libraries."""
    libraries = "__future__ collections contextvars dataclasses functools math re typing".split()
    paths = sorted((PACKAGE / "story").glob("*.py"))
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.partition(".")[0] in ("scalarviz", *libraries), f"{path.name}: {name}"
    modules = ", ".join(f"scalarviz.story.{path.stem}" for path in paths)
    program = f"import sys; sys.modules['numpy'] = None; import {modules}"
    output_of("-c", program)


def test_the_rooms_are_twelve_and_stand_in_the_order_of_imports() -> None:
    rooms = [each.partition(".")[0] for each in PACKAGES]
    order = [room for room, above in zip(rooms, ["", *rooms], strict=False) if room != above]
    order.remove("errors")  # a single file, part of base/
    order.remove("base")
    order.remove("scenes")  # a single file, which leads to those at the top of a checkout
    order.remove("nn")  # a single file, named as programs for micrograd import it
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(folders) == 12 and order == [*dict.fromkeys(order)]
    assert folders == {*order} - {"__main__", "__init__"}


def test_leaf_calls_have_the_types_of_the_functions() -> None:
    path = PACKAGE / "base" / "leaf_calls.py"
    written = {
        node.target.id: ast.unparse(node.annotation)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for name, module in LEAF_CALLS.items():
        signature = inspect.signature(getattr(import_module(f"scalarviz.{module}"), name))
        arguments, _, result = written[name][len("Callable[") : -1].rpartition(", ")
        assert result in ("Any", signature.return_annotation), name
        assert arguments == "..." or arguments.count(",") + 1 == len(signature.parameters), name


def test_no_files_import_each_other_in_a_circle() -> None:
    above = {
        name: {x.module for x in imports_of(path) if not x.typing and x.module != name}
        for name, path in MODULES.items()
        if name != "__init__"
    }
    done: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, f"a circle of imports: {' -> '.join([*way, name])}"
        if name not in done:
            for other in sorted(above.get(name, ())):
                walk(other, (*way, name))
            done.add(name)

    for name in sorted(above):
        walk(name, ())


def test_every_file_can_be_imported_on_every_system() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        imported = {*re.findall(r"^(?:import|from) ([\w.]+)", text, re.MULTILINE)}
        assert not imported & ONLY_ON_SOME_SYSTEMS, (
            f"{path.relative_to(ROOT)} imports {imported & ONLY_ON_SOME_SYSTEMS}, which some "
            "systems lack; import it where it is used, with another way beside it."
        )


def test_every_public_name_is_there() -> None:
    missing = [
        name for name in sv.__all__ if getattr(sv, name, None) is None or name not in dir(sv)
    ]
    assert not missing


def test_an_unknown_name_tells_the_nearest() -> None:
    with refused(AttributeError, "'Netwrok'"):
        _ = sv.Netwrok


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("import scalarviz", HEAVY),
        ("import scalarviz as sv; sv.Value; sv.Network", HEAVY),
        ("import scalarviz.faces.window.window", FOR_FILES),
    ],
)
def test_importing_stays_light(program: str, heavy: tuple[str, ...]) -> None:
    report = "; import json, sys; print(json.dumps(sorted(sys.modules)))"
    loaded = [
        module
        for module in json.loads(output_of("-c", program + report))
        if any(module == each or module.startswith(each + ".") for each in heavy)
    ]
    assert loaded == [], f"`{program}` loads {loaded}"


def test_before_ctrl_c_is_handled_almost_nothing_is_loaded() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = {{*sys.modules}}"
        "; import scalarviz; print(*{*sys.modules} - before)"
    )
    loaded = {name.partition(".")[0] for name in output_of("-I", "-S", "-c", program).split()}
    assert "scalarviz" in loaded and loaded <= {"scalarviz", "importlib", "warnings"}


def ours(kind: type) -> list[type]:
    """Return a class and its base classes in scalarviz."""
    return [each for each in kind.__mro__ if each.__module__.startswith("scalarviz.")]


def test_the_idea_is_read_in_one_sitting() -> None:
    files = {Path(inspect.getfile(each)) for kind in IDEA for each in ours(kind)}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = text.partition("## The idea in one sitting")[2].partition("\n## ")[0]
    assert files == {ROOT / name for name in re.findall(r"^\d+\. `(.+?)`", listed, re.MULTILINE)}
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 2_430


def test_a_base_class_has_two_classes_beneath_it() -> None:
    assert (ours(Value), ours(Bank)) == ([Value], [Bank])
    assert (ours(Weight), ours(Network)) == ([Weight, Part], [Network, Model, Part])
    for base in {base for kind in IDEA for base in ours(kind)[1:]}:
        beneath = [each for each in base.__subclasses__() if ours(each)[:1] == [each]]
        assert len(beneath) >= 2, f"{base.__name__} is the base of {beneath}: make them one class"


def test_few_functions_run_in_a_training_step() -> None:
    net, loss, optimizer = sv.Network([3, 8, 3], "tanh", "sigmoid"), sv.Loss("mse"), sv.SGD(0.1)
    x, codes = np.zeros((4, 3)), set[CodeType]()

    def step() -> None:
        net.zero_grad()
        loss.forward(net.forward(x), x)
        net.backward(loss.backward())
        net.step(optimizer)

    step()
    sys.setprofile(lambda frame, event, _: codes.add(frame.f_code) if event == "call" else None)
    step()
    sys.setprofile(None)
    found = [code for code in codes if code.co_filename.startswith(str(PACKAGE))]
    functions = [code for code in found if not code.co_name.startswith("<")]
    lines = [len(inspect.getsourcelines(code)[0]) for code in functions]
    assert sum(lines) <= 700 and len({code.co_filename for code in functions}) <= 15


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "BENCHMARKS.md"])
def test_every_link_to_a_file_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), f"{page} links to {target}, which is not there"


TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALK = re.findall(r"^\d+\. (.*)$", TEXT.partition("## The path of one weight")[2], re.MULTILINE)


def test_the_path_of_one_weight_has_twelve_lines() -> None:
    assert len(WALK) == 12


@pytest.mark.parametrize("line", WALK)
def test_the_path_of_one_weight_names_files_and_what_is_in_them(line: str) -> None:
    marked = re.findall(r"`([^`]+)`", line)
    files = [ROOT / each for each in marked if "/" in each]
    assert all(file.is_file() for file in files), [str(file) for file in files]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    for name in {each for each in marked if "/" not in each}:
        assert re.search(rf"\b{name}\b", code), f"none of its files has {name}"
    defined = [name for name in marked if re.search(rf"(def|class|vec4) {name}\b", code)]
    assert defined, "it names nothing that its files define"


def test_the_weight_of_that_path_is_where_it_says() -> None:
    s = sv.Session(sv.Network([3, 8, 3]), sv.data.Rgb(levels=2), engine="python")
    weight = s.network.layers[0].perceptrons[2].weights[1]
    assert "net.layers[0].perceptrons[2].weights[1]" in TEXT
    assert (weight.index, len(s.network.bank)) == (7, 59)
    assert layout_of(s).plate_of(7) is not None


NAMED = re.compile(r"`(\w+)` (?:in|of)\s+`((?:scalarviz|tests|docs)/[^`\s]*\.(?:py|js))`")


def paths() -> list[str]:
    """Return the paths in the text, with a{b,c}d expanded."""
    found = []
    for path in re.findall(r"`((?:scalarviz|tests|scenes|notebooks)/[^`\s]*)`", TEXT):
        head, brace, rest = path.partition("{")
        inner, _, tail = rest.partition("}")
        found += [head + part + tail for part in inner.split(",")] if brace else [path]
    return found


def test_what_it_names_is_there() -> None:
    assert [path for path in paths() if not (ROOT / path).exists()] == []


def test_it_is_read_in_a_few_minutes() -> None:
    assert len(TEXT.splitlines()) <= 150


def test_each_addition_has_a_place_and_what_it_takes_beside_it() -> None:
    parts = TEXT.partition("## Where things go")[2].partition("\n## ")[0].split("\n\n")
    tables = [part.split("\n") for part in parts if part.startswith("|")]
    assert len(tables) >= 4
    for head, _, *rows in tables:
        assert head.endswith("| where | automatic | also needed |")
        for row in rows:
            _, name, place, *_, end = row.split("|")
            assert row.count("|") == head.count("|"), row
            assert name.strip() and "`" in place and end == "", row


@pytest.mark.parametrize(("name", "path"), NAMED.findall(TEXT))
def test_the_names_that_it_looks_for_in_a_file_are_there(name: str, path: str) -> None:
    assert re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8"))


ADDITIONS = """
    activation loss optimizer schedule initializer layer operator engine exhibit channel
    theme camera control key lesson scene metric condition moment caption card text error
""".split()


@pytest.mark.parametrize("addition", [*ADDITIONS, "data set", "kind of operation"])
def test_it_says_where_each_addition_goes(addition: str) -> None:
    assert f"**{addition}**" in TEXT


@pytest.mark.parametrize(
    ("table", "path"),
    re.findall(r"row of `([A-Z_]+)` in\s+`(scalarviz/[^`]*\.py)`", TEXT),
)
def test_the_tables_that_it_names_are_there(table: str, path: str) -> None:
    module = import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    assert getattr(module, table)
