"""Files of other languages in the package: they are installed, they compile, they parse."""

import configparser
import json
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from scalarviz.base.package_files import text_beside
from scalarviz.files.shaders.live_shader import live_shader
from scalarviz.scene.visuals import shaders
from scalarviz.scene.visuals.shaders import SPHERE
from scalarviz.stage.shader_evaluator import fragment_of
from scalarviz.training.network.network import Network
from tests.root import ROOT

PACKAGE = ROOT / "scalarviz"
# What checks the scripts of pages: the settings of Node's tools, which are not installed.
TOOLS = {path for path in PACKAGE.joinpath("pages", "web").iterdir() if path.suffix != ".js"}
FILES = sorted(
    path
    for path in {*PACKAGE.rglob("*")} - TOOLS
    if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
)
SCRIPTS = {path.name: path for path in FILES if path.suffix == ".js"}
# Scripts that a browser loads as modules.
MODULES = {path.name for path in PACKAGE.joinpath("pages", "web").glob("*.js")}
MODULES |= {"canvas.js", "widget.js"}

STAGES = (".vert", ".frag")
PARTS = "cubes.frag", "evaluate.frag"  # of a program that other text completes


SHADERS = {
    path.name: path.read_text(encoding="utf-8")
    for path in FILES
    if path.suffix in STAGES and path.name not in PARTS
} | {
    "evaluate.frag with fours_reader.glsl": fragment_of(
        live_shader(Network([5, 3, 6], "tanh", seed=0)), 5, 6, 2
    ),
    "sphere.vert with key_light.glsl": SPHERE[0].replace(shaders.TRANSFORMS, ""),
    "cubes.frag with texels_float.glsl": shaders.fragment(shaders.FLOATS),
    "cubes.frag with texels_bytes.glsl": shaders.fragment(shaders.BYTES),
}

GLSLANG = shutil.which("glslangValidator")
NODE = shutil.which("node")


def test_every_file_has_a_pattern_in_package_data() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    patterns = settings["options.package_data"]
    for path in FILES:
        name = ".".join(path.parent.relative_to(ROOT).parts)
        package = name if (path.parent / "__init__.py").exists() else name.rpartition(".")[0]
        file = path.relative_to(ROOT.joinpath(*package.split("."))).as_posix()
        named = f"{patterns['*']},{patterns.get(package, '')}"
        found = [pattern.strip() for pattern in named.split(",")]
        assert any(fnmatch(file, pattern) for pattern in found), path


def test_a_browser_gets_no_package_that_has_no_wheel_there() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    lines = settings["options"]["install_requires"].splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    browser, linux = {"sys_platform": "emscripten"}, {"sys_platform": "linux"}
    left_out = {r.name for r in found if r.marker and not r.marker.evaluate(browser)}
    assert left_out == {"PyOpenGL", "freetype-py", "numba", "vispy"}
    assert all(r.marker is None or r.marker.evaluate(linux) for r in found)


def test_an_installed_package_has_every_file(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="builds the package with setuptools")
    for name in ("setup.cfg", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    omitted = shutil.ignore_patterns("__pycache__", "node_modules")
    shutil.copytree(PACKAGE, tmp_path / "scalarviz", ignore=omitted)
    for name in ("scenes", "notebooks", "docs/guide"):
        shutil.copytree(ROOT / name, tmp_path / name)
    command = [sys.executable, "setup.py", "-q"]
    subprocess.run([*command, "build_py", "--build-lib", "built"], cwd=tmp_path, check=True)
    built = tmp_path / "built"
    files = {*FILES, *PACKAGE.rglob("*.py")} - {PACKAGE / "scenes.py"}
    assert [path for path in files if not (built / path.relative_to(ROOT)).is_file()] == []
    assert not [path for path in TOOLS if (built / path.relative_to(ROOT)).exists()]
    for folder in ("scenes", "notebooks", "docs/guide"):
        there = {path.name for path in (ROOT / folder).iterdir() if path.is_file()}
        assert {path.name for path in (built / "scalarviz" / folder).iterdir()} == there
    check_lesson(built / "scalarviz" / "notebooks" / "01-one-weight.ipynb")
    guide = built / "scalarviz" / "docs" / "guide"
    assert "](../../notebooks/01-one-weight.ipynb)" in guide.joinpath("glossary.md").read_text()
    assert (
        "](https://scalarviz.example/docs/sweep.png)" in guide.joinpath("sessions.md").read_text()
    )


def check_lesson(path: Path) -> None:
    """Check that an installed lesson has its drawings, and no stills of what trains in a page."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    drawn = {
        "".join(cell["source"]).rpartition("\n")[2].partition("(")[0]
        for cell in cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    }
    assert drawn == {"plt.tight_layout"}


def test_a_file_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        text_beside(__file__, "nothing.frag")


def test_every_part_of_a_shader_is_compiled() -> None:
    parts = {path.name for path in FILES if path.suffix in (*STAGES, ".glsl")}
    assert parts == {part for name in SHADERS for part in name.split(" with ")}


@pytest.mark.skipif(GLSLANG is None, reason="needs glslangValidator of glslang-tools")
@pytest.mark.parametrize("name", SHADERS)
def test_a_shader_compiles(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"shader{Path(name.split(' ')[0]).suffix}"
    file.write_text(SHADERS[name], encoding="utf-8")
    done = subprocess.run([str(GLSLANG), str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# Prints why scripts do not parse, by name; those in the first list are modules.
PARSE = """
const { readFileSync } = require("node:fs"), vm = require("node:vm");
const [modules, scripts] = process.argv.slice(1).map((each) => JSON.parse(each)), found = {};
for (const [kind, paths] of [[vm.SourceTextModule, modules], [vm.Script, scripts]]) {
  for (const [name, path] of Object.entries(paths)) {
    try { new kind(readFileSync(path, "utf8"), { filename: name }); }
    catch (error) { found[name] = error.stack; }
  }
}
console.log(JSON.stringify(found));
"""


def unparsed(modules: dict[str, Path], scripts: dict[str, Path]) -> dict[str, str]:
    """Return the errors of all scripts that do not parse; one process reads them all."""
    lists = [json.dumps({name: str(path) for name, path in s.items()}) for s in (modules, scripts)]
    command = [str(NODE), "--no-warnings", "--experimental-vm-modules", "-e", PARSE, *lists]
    found: dict[str, str] = json.loads(subprocess.check_output(command))
    return found


@pytest.mark.skipif(NODE is None, reason="needs node to parse JavaScript")
def test_every_script_parses(tmp_path: Path) -> None:
    modules = {name: path for name, path in SCRIPTS.items() if name in MODULES}
    assert len(modules) > 50
    scripts = {name: path for name, path in SCRIPTS.items() if name not in MODULES}
    assert unparsed(modules, scripts) == {}
    wrong = tmp_path / "wrong.js"
    wrong.write_text("export const x = ;\n")
    assert "SyntaxError" in unparsed({"wrong.js": wrong}, {})["wrong.js"]
