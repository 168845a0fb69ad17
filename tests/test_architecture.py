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
    errors.near_names
    errors.visible_text
    errors
    checks.attributes
    checks.foreign_arrays
    checks.numbers
    process.memory
    process.ctrl_c
    checks.limits
    formulas.elementary
    formulas.retarget
    formulas.table
    formulas.settings
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
    model.optimizer
    autograd.graph
    autograd.copies
    draw2d.colors
    draw2d.theme
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
    autograd.value
    model.precision
    data.batches
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
    model.bank
    model.weight
    model.operations
    model.program
    model.trace
    displays.layer
    displays.network
    layers.lazy_list
    layers.perceptron
    layers.base
    layers.shapes
    layers.activation
    layers.perceptron_layer
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
    engines.common.snapshot
    engines.common.before
    engines.common.base
    engines.common.statistics
    engines.common.portions
    engines.common.reference
    engines.python.run
    engines.python.engine
    engines.codegen.dispatch
    engines.codegen.cuda_dispatch
    engines.codegen.float_bits
    engines.codegen.fast_math
    engines.codegen.kernel_source
    engines.codegen.kernel_tiles
    engines.codegen.kernel_choice
    engines.codegen.kernel_cache
    engines.codegen.compiling
    engines.common.cores
    engines.codegen.kernel_file
    engines.cpu.simd
    engines.cpu.products
    engines.cpu.tiles
    engines.cpu.half
    engines.cpu.elementwise
    engines.cpu.convolution
    engines.cpu.batch_norm
    engines.cpu.table
    engines.cpu.step
    engines.cpu.passes
    engines.cpu.draws
    engines.cpu.updates
    engines.cpu.entry
    engines.cpu.replicas_kernel
    engines.cpu.optimizer_args
    engines.cpu.tables
    engines.cpu.calls
    engines.cpu.stepper
    engines.cpu.run
    engines.cpu.replicas
    engines.cpu.engine
    engines.expression.engines
    engines.expression.run
    engines.expression.kernels
    engines.expression.steps
    engines.expression.tables
    engines.expression.cpu
    engines.cuda.missing
    engines.cuda.api
    engines.cuda.plan
    engines.cuda.draws
    engines.cuda.teams
    engines.cuda.elementwise
    engines.cuda.convolution
    engines.cuda.batch_norm
    engines.cuda.products
    engines.cuda.table
    engines.cuda.updates
    engines.cuda.kernels
    engines.cuda.steps
    engines.cuda.tables
    engines.cuda.memory
    engines.cuda.calls
    engines.cuda.run
    engines.cuda.engine
    engines.registry
    engines.user_activations
    files.onnx_names
    files.atomic
    files.checked_safetensors
    files.networks
    shaders.math
    shaders.source
    shaders.writer
    shaders.constants
    shaders.kinds
    shaders.shader
    shaders.export
    network.network
    onnx.package
    onnx.weighing
    onnx.tensors
    onnx.graph
    onnx.trace
    onnx.fusions
    onnx.frequency_encoding
    onnx.windows
    onnx.reshape_ops
    onnx.operators
    onnx.fuse_activations
    onnx.freeze_selection
    onnx.reading
    onnx.writer
    onnx.writers
    onnx.writing
    onnx
    network.bank_value
    network.expression
    network.gradcheck
    session.worker
    session.lock
    session.timeline
    session.trainer
    session.outside_writes
    session.explanation
    session.replay
    session.units
    session.weight_history
    session.standing
    files.settings_codec
    files.actions
    files.rebuilding
    files.runs
    files
    session.background
    session.session
    session.replicas
    view.offscreen
    view.scene.plates
    view.scene.parameter_layout
    view.scene.layout_builder
    view.scene.plate_grid
    view.scene.layout
    view.scene.camera
    view.cubes.float_textures
    view.cubes.boxes
    view.cubes.shaders
    view.cubes.mip_levels
    view.cubes.lod
    view.cubes.cubes
    view.cubes.picking
    draw2d.fonts
    draw2d.batch
    draw2d.canvas
    draw2d.renderer
    view.scene.frame
    draw2d.text_blocks
    draw2d.braille_curve
    view.exhibits.exhibit
    view.exhibits.graph
    view.exhibits.pictures
    view.exhibits.plane
    view.exhibits.swatches
    view.exhibits.confusion
    view.exhibits.sorting
    terminal.picture
    view.frame_data
    view.lights
    view.neuron_colors
    view.feature_maps
    view.neurons
    view.highlights
    view.scenery
    view.charts
    view.inspector
    view.overlay
    view.picture
    view.canvas
    view
    controller.autosave
    process.children
    terminal.keys
    process.interrupt
    scenefiles.user_code
    scenefiles.find
    presenter.show
    scenefiles.options
    export.rate
    presenter.sorting
    presenter.exhibits_of
    presenter.paths
    presenter.traced_weight
    presenter.captions.format
    presenter.captions.operations
    presenter.captions.moments
    export.storyboard_page
    presenter.scene_layout
    presenter.sample_pass
    presenter.channels
    presenter.throttle
    presenter.answers
    presenter.live_values
    presenter.motion
    presenter.captions.cache
    presenter.notifications
    presenter.cards
    presenter.camera_control
    presenter.scales
    presenter.pointing
    presenter.stage
    presenter
    export.video
    export.render
    controller.precompile
    controller.tour
    terminal.train
    cli.render_scene
    controller.picture
    controller.options
    controller.keys
    controller.end_of_run_actions
    controller.play
    controller.undo
    controller.export
    controller.warming
    controller.hand
    controller.state
    controller.controller
    controller.startup
    controller.pointer
    controller
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
    cli.bench
    cli.probes
    cli.doctor
    terminal.terminal
    window.window
    window
    notebook.place
    notebook.predict
    notebook.form
    notebook.canvas
    notebook.controls
    notebook.live
    notebook
    export.step_page_2d
    notebook.show
    faces
    cli.commands
    cli
    __main__
    autograd
    checks
    draw2d
    engines.codegen
    engines.common
    engines.cpu
    engines.cuda
    engines.expression
    engines.python
    export
    model
    network
    presenter.captions
    process
    scenefiles
    session
    shaders
    terminal
    view.cubes
    view.exhibits
    view.scene
    stage
    stage.show
    engines
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
