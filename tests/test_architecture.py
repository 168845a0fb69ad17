"""The shape of the package: who may import whom, what is public, and what loads when."""

import ast
import configparser
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import scalarviz as sv

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "scalarviz"

# A file imports only from files above it. A package stands for its __init__.py; `__init__` is
# scalarviz's own. A name without a file keeps a place for one.
ORDER = """
    __init__
    spellings
    foreign
    errors
    attributes
    arrays
    checks
    memory
    ctrl_c
    limits
    formulas.elementary
    formulas.retarget
    formulas.table
    remaking
    formulas.randomness
    formulas.activations
    formulas.losses
    formulas.pooling
    formulas.rowwise
    formulas.arithmetic
    formulas.schedules
    formulas.optimizers
    formulas.scaling
    formulas.initializers
    formulas
    optimizer
    value_graph
    value_copies
    view.colors
    view.theme
    displays.svg
    displays.page
    displays.cells
    displays.layered
    displays.value
    displays.weight
    displays.perceptron
    displays.program
    displays.session
    displays
    value
    precision
    batches
    data.base
    data.plane
    data.colors
    data.generated
    data.files
    data.idx
    data.digits
    data.landscape
    data.pictures
    data
    bank
    weight
    operations
    program
    recording
    displays.layer
    displays.network
    layers.ondemand
    layers.perceptron
    layers.base
    layers.shapes
    layers.activation
    layers.perceptrons
    layers.dense
    layers.convolution
    layers.norms
    layers.batch_norm
    layers.dropout
    layers.rowwise
    layers.encoding
    layers.softmax
    layers.pooling
    layers.chain
    layers.residual
    layers
    engines.snapshot
    engines.before
    engines.base
    engines.statistics
    engines.portions
    engines.one_operation
    engines.python_run
    engines.python
    engines.dispatch
    engines.cuda_dispatch
    engines.float_bits
    engines.fast_math
    engines.kernel_source
    engines.kernel_tiles
    engines.kernel_choice
    engines.kernel_cache
    engines.compiling
    engines.cores
    engines.kernel_file
    engines.cpu_lanes
    engines.cpu_lanes
    engines.cpu_products
    engines.cpu_tiles
    engines.cpu_half
    engines.cpu_kinds
    engines.cpu_convolution
    engines.cpu_batch_norm
    engines.cpu_kernels
    engines.cpu_chunks
    engines.cpu_passes
    engines.cpu_draws
    engines.cpu_updates
    engines.cpu_steps
    engines.cpu_replicas
    engines.cpu_orders
    engines.cpu_tables
    engines.cpu_work
    engines.cpu_moments
    engines.cpu_run
    engines.cpu_many
    engines.cpu
    engines.expression_engines
    engines.expression_run
    engines.expression_kernels
    engines.expression_steps
    engines.expression_tables
    engines.expression_cpu
    engines.cuda_lack
    engines.cuda_api
    engines.cuda_plan
    engines.cuda_draws
    engines.cuda_samples
    engines.cuda_kinds
    engines.cuda_convolution
    engines.cuda_batch_norm
    engines.cuda_products
    engines.cuda_operations
    engines.cuda_updates
    engines.cuda_kernels
    engines.cuda_steps
    engines.cuda_tables
    engines.cuda_memory
    engines.cuda_work
    engines.cuda_run
    engines.cuda
    engines
    own
    onnx.names
    files.atomic
    files.container
    files.networks
    files.shader_math
    files.shader_source
    files.shader_writer
    files.shader_constants
    files.shader_kinds
    files.shader
    files.export
    network
    onnx.package
    onnx.weighing
    onnx.tensors
    onnx.graph
    onnx.steps
    onnx.fusions
    onnx.encodings
    onnx.windows
    onnx.views
    onnx.operators
    onnx.joining
    onnx.choice
    onnx.reading
    onnx.writer
    onnx.writers
    onnx.writing
    onnx
    settled
    expression
    finite_differences
    background
    turns
    timeline
    trainer
    watching
    explanation
    course
    units
    pins
    standing
    files.pieces
    files.actions
    files.rebuilding
    files.runs
    files
    player
    session
    replicas
    view.offscreen
    view.plates
    view.values
    view.drawing
    view.grids
    view.layout
    view.camera
    view.texels
    view.cube_boxes
    view.cube_shaders
    view.means
    view.nearness
    view.cubes
    view.picking
    view.fonts
    view.quads
    view.paper
    view.ink
    view.frame
    view.blocks
    view.curve
    view.exhibit
    view.graph
    view.pictures
    view.plane
    view.swatches
    view.confusion
    view.sorting
    view.terminal
    view.sight
    view.lights
    view.tones
    view.maps
    view.neurons
    view.marks
    view.scenery
    view.charts
    view.inspector
    view.hud
    view.picture
    view.canvas
    view
    apps.keep
    apps.children
    apps.keys
    apps.stop
    apps.own_code
    apps.scenes
    stage.show
    apps.options
    apps.pace
    stage.sorting
    stage.sights
    stage.paths
    stage.followed
    stage.wording
    stage.sayings
    stage.story
    apps.page
    stage.ground
    stage.sample
    stage.channels
    stage.sparing
    stage.answers
    stage.reading
    stage.motion
    stage.narration
    stage.messages
    stage.cards
    stage.eyes
    stage.scales
    stage.pointing
    stage.stage
    stage
    apps.moving
    apps.render
    desk.warm
    desk.tour
    apps.train
    apps.render_scene
    desk.picture
    desk.options
    desk.keys
    desk.offers
    desk.play
    desk.undo
    desk.export
    desk.warming
    desk.hand
    desk.state
    desk.desk
    desk.opening
    desk.pointer
    desk
    window.libraries
    window.look
    window.fields
    window.rows
    window.options
    window.menus
    window.farewell
    window.controls
    window.picture
    window.frame
    apps.bench
    apps.probes
    apps.doctor
    apps.terminal
    window.window
    window
    widget.place
    widget.predict
    widget.form
    widget.canvas
    widget.controls
    widget.live
    widget
    apps.plain
    apps.notebook
    apps.watch
    apps.cli
    apps
    __main__
""".split()

PUBLIC_NAMES = """
    Value where maximum minimum
    Weight Bank Perceptron Layer Dense LayerNorm RMSNorm FrequencyEncoding Softmax
    MaxPool2d AvgPool2d Conv2d Flatten Reshape BatchNorm
    Dropout Residual Activation onnx Network
    Loss Init Schedule Precision
    Optimizer SGD Momentum Nesterov RMSProp Adam AdamW
    Session replicate load
    watch picture record storyboard Show predict
    compile gradcheck activation data ScalarvizError
""".split()

# Loaded only when asked for: each costs time, or is absent where its extra is not installed.
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

ONLY_ON_SOME_SYSTEMS = set(
    "crypt curses fcntl grp msvcrt nis ossaudiodev posix pty pwd readline resource spwd syslog "
    "termios tty winreg winsound _winapi".split()
)

FILES = sorted(PACKAGE.rglob("*.py"))
every_file = pytest.mark.parametrize(
    "path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES]
)


def name_in_order(path: Path) -> str:
    """formulas/losses.py is called formulas.losses, formulas/__init__.py is called formulas."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


NAMES = {name_in_order(path) for path in FILES}


def statements_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below this one, except what only a type checker sees."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.orelse:
                yield statement
                yield from statements_that_run(statement)
        else:
            yield child
            yield from statements_that_run(child)


def own_imports(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the name, as in ORDER, of everything that a file imports from scalarviz."""
    package = ["scalarviz", *path.relative_to(PACKAGE).parent.parts]
    for node in statements_that_run(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            targets = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            top, _, rest = target.partition(".")
            # In `from scalarviz.formulas.losses import mse` the last part is no file.
            while rest and rest not in NAMES:
                rest = rest.rpartition(".")[0]
            if top == "scalarviz":
                yield node.lineno, rest or "__init__"


@every_file
def test_a_file_imports_only_from_files_above_it(path: Path) -> None:
    name = name_in_order(path)
    assert name in ORDER, (
        f"{path.relative_to(ROOT)} is new: add {name!r} to ORDER in tests/test_architecture.py, "
        "below everything that it imports."
    )
    for line, imported in own_imports(path):
        where = f"{path.relative_to(ROOT)}:{line}"
        assert imported != "__init__", (
            f"{where} imports from scalarviz itself; inside the package, import from the file that "
            "defines the name."
        )
        assert imported in ORDER, f"{imported!r} is not in ORDER."
        assert ORDER.index(imported) < ORDER.index(name), (
            f"{where} imports {imported}, which is not above {name} in ORDER."
        )


@every_file
def test_a_file_is_read_in_one_sitting(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 500, f"{path.relative_to(ROOT)} has {lines} lines; split it by subject."


@every_file
def test_a_file_can_be_imported_on_every_system(path: Path) -> None:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Import):
            modules = {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            modules = {statement.module or ""}
        else:
            continue
        assert not modules & ONLY_ON_SOME_SYSTEMS, (
            f"{path.relative_to(ROOT)}:{statement.lineno} imports {modules}, which some systems "
            "lack; import it where it is used, with another way beside it."
        )


def test_every_folder_is_installed() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    listed = set(settings["options"]["packages"].split())
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in FILES}
    assert listed == folders | {"scalarviz.scenes"}, "correct `packages` in setup.cfg"


def test_the_public_names_are_these() -> None:
    assert sorted(sv.__all__) == sorted(PUBLIC_NAMES)


@pytest.mark.parametrize("name", sv.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(sv, name) is not None
    assert name in dir(sv)


def test_an_unknown_name_tells_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"Netwrok.*\bNetwork\b"):
        _ = sv.Netwrok


@pytest.mark.parametrize(
    "program", ["import scalarviz", "import scalarviz as sv; sv.Value; sv.Network"]
)
def test_importing_stays_light(program: str) -> None:
    report = "; import json, sys; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", program + report]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    loaded = [
        module
        for module in json.loads(output)
        if any(module == heavy or module.startswith(heavy + ".") for heavy in HEAVY)
    ]
    assert loaded == [], f"`{program}` loads {loaded}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "BENCHMARKS.md"])
def test_every_link_to_a_file_leads_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), f"{page} links to {target}, which is not there"
