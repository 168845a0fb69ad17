"""Setup, tests and publication of the project.

Make, workflows, files in the package, the site.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from scalarviz.base.package_files import text_beside
from scalarviz.scene.visuals import shaders
from scalarviz.scene.visuals.shaders import SPHERE
from tests.cases import MATRICES, chosen_of, id_of
from tests.machine import GENERATED, ROOT
from tests.nearest import main, near_tests
from tests.sessions import RUNNABLE
from tests.wording import OF_CUDA

LOCKED = (
    "E: Could not get lock /var/lib/{0}lock. It is held by process 4711 (unattended-upgr)\n"
    "E: Unable to lock directory /var/lib/{0}\n"
)
FAKES = {
    "dpkg-query": "exit 1",
    "id": "echo 0",
    "sleep": 'echo "sleep $@" >> "$TOLD"',
    # Each prepared answer is given once; then everything succeeds.
    "apt-get": """
        echo "$@" >> "$TOLD"
        first=$(ls "$ANSWERS" | head -1)
        [ -n "$first" ] || exit 0
        cat "$ANSWERS/$first" >&2
        rm "$ANSWERS/$first"
        exit 100""",
    **dict.fromkeys(["python3", *(f"python3.{minor}" for minor in range(11, 16))], "exit 1"),
}


class Ran:
    """The result of `make watch`: its output, its errors, its requests."""

    def __init__(self, folder: Path, answers: list[str]) -> None:
        for name in ("Makefile", "setup.cfg", "setup.py", "pyproject.toml"):
            shutil.copy(ROOT / name, folder / name)
        fakes, prepared, told = folder / "fakes", folder / "answers", folder / "told"
        fakes.mkdir()
        prepared.mkdir()
        told.touch()
        for name, body in FAKES.items():
            (fakes / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            (fakes / name).chmod(0o755)
        for i, answer in enumerate(answers):
            (prepared / f"{i:03}").write_text(answer, encoding="utf-8")
        # Passed by `make test PYTHON=...` to each make below it.
        own = {name: os.environ[name] for name in os.environ if not name.startswith("MAKE")}
        environment = own | {
            "PATH": f"{fakes}:/usr/bin:/bin",
            "TOLD": str(told),
            "ANSWERS": str(prepared),
        }
        done = subprocess.run(
            ["make", "watch"], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode
        self.said, self.complaint = done.stdout, done.stderr
        asked = [line.split() for line in told.read_text(encoding="utf-8").splitlines()]
        self.asked = [next(word for word in line if not word.startswith("-")) for line in asked]


@pytest.fixture
def settings() -> configparser.ConfigParser:
    """Return the settings of setup.cfg."""
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg")
    return found


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("make") is None, reason="the set-up is that of Debian"
)
def test_it_waits_for_an_apt_that_is_at_work_whichever_lock_it_holds(tmp_path: Path) -> None:
    busy = [LOCKED.format(lock) for lock in ("dpkg/", "dpkg/", "apt/lists/")]
    ran = Ran(tmp_path, [*busy[:2], "E: Unable to locate package libegl1\n", busy[2]])
    tried = ["install", "sleep"] * 2 + ["install", "update", "sleep", "update", "install"]
    assert ran.asked == tried
    waits = "waits for another apt, up to half an hour: process 4711 (unattended-upgr)"
    assert ran.said.count(waits) == 1
    assert "no Python found" in ran.complaint  # followed by this


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("make") is None, reason="the set-up is that of Debian"
)
def test_what_apt_cannot_do_is_told_and_ends_it(tmp_path: Path) -> None:
    ran = Ran(tmp_path, ["E: Unable to locate package libegl1\n", "E: no network\n"])
    assert ran.asked == ["install", "update"]
    assert "apt could not install" in ran.complaint and "E: no network" in ran.complaint


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("make") is None, reason="the set-up is that of Debian"
)
@pytest.mark.slow
def test_an_apt_that_never_ends_is_told_in_the_end(tmp_path: Path) -> None:
    ran = Ran(tmp_path, [LOCKED.format("dpkg/")] * 400)
    assert "Could not get lock /var/lib/dpkg/lock" in ran.complaint
    assert ran.asked.count("sleep") == 179


@pytest.fixture
def dotted(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Run a shell command as the setup runs pip, with a dot every tenth of a second."""
    (tmp_path / "fakes").mkdir()
    (tmp_path / "fakes" / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.1\n")
    (tmp_path / "fakes" / "sleep").chmod(0o755)
    makefile = str(ROOT / "Makefile").replace(" ", "\\ ")
    rule = f"include {makefile}\nit:\n\t@exec sh -uc \"$$DOTS && with_dots sh -c '$$WORK'\""
    (tmp_path / "makefile").write_text(rule)
    begun = []

    def begin(work: str) -> subprocess.Popen[str]:
        environment = os.environ | {"PATH": f"{tmp_path / 'fakes'}:/usr/bin:/bin", "WORK": work}
        begun.append(
            subprocess.Popen(
                ["make", "-s", "-f", "makefile", "it"], cwd=tmp_path, env=environment,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            )
        )  # fmt: skip
        return begun[-1]

    yield begin
    for each in begun:
        with suppress(ProcessLookupError):
            os.killpg(each.pid, signal.SIGKILL)


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("make") is None, reason="the set-up is that of Debian"
)
@pytest.mark.parametrize("code", [0, 3])
def test_what_takes_long_prints_dots_and_then_what_it_said(dotted: Any, code: int) -> None:
    out, error = dotted(f"/bin/sleep 1; echo one; echo two >&2; exit {code}").communicate()
    assert re.fullmatch(r"\.{3,12}\none\ntwo\n", out), out
    assert (f"Error {code}" in error) == bool(code)
    assert dotted("true").communicate()[0] == "\n"


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("make") is None, reason="the set-up is that of Debian"
)
def test_no_dots_outlive_a_set_up_that_is_killed(dotted: Any) -> None:
    going = dotted("/bin/sleep 60 >/dev/null 2>&1")
    assert going.stdout.read(2) == ".."
    os.killpg(going.pid, signal.SIGINT)
    going.wait(10)
    assert len(going.communicate(timeout=10)[0]) < 20  # the pipe is closed: no further output


WEB = ROOT / "scalarviz" / "pages" / "web"
WORKFLOWS = {path.name: path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_calls_targets_of_the_makefile(name: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = " ".join(re.findall(r"run: make ([a-z -]+)", WORKFLOWS[name])).split()
    assert called and {*called} <= {*targets}


def test_tests_run_on_the_oldest_and_the_newest_python(settings: configparser.ConfigParser) -> None:
    low, high = re.findall(r"3\.(\d+)", settings["options"]["python_requires"])
    (pythons,) = re.findall(r"python: (\[.*?\])", WORKFLOWS["tests.yml"])
    assert json.loads(pythons) == [f"3.{low}", f"3.{int(high) - 1}"]


def test_node_takes_nothing_below_the_checkout_for_a_module_but_the_scripts_of_pages() -> None:
    """JupyterLab's yarn.js in .venv is none: it failed, loudly, while package.json said so."""
    assert not (ROOT / "package.json").exists()
    assert json.loads((WEB / "package.json").read_text())["type"] == "module"


def test_the_lock_of_npm_names_no_other_registry() -> None:
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    assert len(packages) > 50
    homes = {each.get("resolved", "https://registry.npmjs.org/") for each in packages.values()}
    assert all(home.startswith("https://registry.npmjs.org/") for home in homes)


PACKAGE = ROOT / "scalarviz"
# The checks of page scripts: the settings of Node's tools, which are not installed.
TOOLS = {path for path in PACKAGE.joinpath("pages", "web").iterdir() if path.suffix != ".js"}
FILES = sorted(
    path
    for path in {*PACKAGE.rglob("*")} - TOOLS - {*GENERATED.glob("*")}
    if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
)
SCRIPTS = {path.name: path for path in FILES if path.suffix == ".js"}
# Scripts that a browser loads as modules.
MODULES = {path.name for path in PACKAGE.joinpath("pages", "web").glob("*.js")} | {"widget.js"}

STAGES = (".vert", ".frag")
PARTS = "box.vert", "cubes.frag"  # parts of a program, completed by other text


SHADERS = {
    path.name: path.read_text(encoding="utf-8")
    for path in FILES
    if path.suffix in STAGES and path.name not in PARTS
} | {
    "sphere.vert with key_light.glsl": SPHERE[0].replace(shaders.TRANSFORMS, ""),
    "box.vert with cells.glsl": shaders.cubes()[0].replace(shaders.TRANSFORMS, ""),
    "cubes.frag with cells.glsl": shaders.cubes()[1],
}

GLSLANG = shutil.which("glslangValidator")
NODE = shutil.which("node")


def test_every_file_has_a_pattern_in_package_data(settings: configparser.ConfigParser) -> None:
    patterns = settings["options.package_data"]
    for path in FILES:
        name = ".".join(path.parent.relative_to(ROOT).parts)
        package = name if (path.parent / "__init__.py").exists() else name.rpartition(".")[0]
        file = path.relative_to(ROOT.joinpath(*package.split("."))).as_posix()
        named = f"{patterns['*']},{patterns.get(package, '')}"
        found = [pattern.strip() for pattern in named.split(",")]
        assert any(fnmatch(file, pattern) for pattern in found), path


def test_a_browser_gets_no_package_that_has_no_wheel_there(
    settings: configparser.ConfigParser,
) -> None:
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
    left_behind = {*TOOLS, GENERATED}  # an installed package creates its modules in memory
    assert not [path for path in left_behind if (built / path.relative_to(ROOT)).exists()]
    for folder in ("scenes", "notebooks", "docs/guide"):
        there = {path.name for path in (ROOT / folder).iterdir() if path.is_file()}
        assert {path.name for path in (built / "scalarviz" / folder).iterdir()} == there
    check_lesson(built / "scalarviz" / "notebooks" / "01-one-weight.ipynb")
    guide = built / "scalarviz" / "docs" / "guide"
    assert "](../../notebooks/01-one-weight.ipynb)" in guide.joinpath("glossary.md").read_text()
    assert (
        "](https://scalarviz.example/docs/side-by-side.png)"
        in guide.joinpath("compare.md").read_text()
    )


def check_lesson(path: Path) -> None:
    """Check that an installed lesson has its drawings, and no pictures that a page can train."""
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


# Prints the parse errors of scripts by name; those in the first list are modules.
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


def unparsed(modules: dict[str, Path], scripts: dict[str, Path]) -> Any:
    """Return the errors of all scripts that do not parse; a single process reads them all."""
    lists = [json.dumps({name: str(path) for name, path in s.items()}) for s in (modules, scripts)]
    command = [str(NODE), "--no-warnings", "--experimental-vm-modules", "-e", PARSE, *lists]
    return json.loads(subprocess.check_output(command))


@pytest.mark.skipif(NODE is None, reason="needs node to parse JavaScript")
def test_every_script_parses(tmp_path: Path) -> None:
    modules = {name: path for name, path in SCRIPTS.items() if name in MODULES}
    assert len(modules) > 50
    scripts = {name: path for name, path in SCRIPTS.items() if name not in MODULES}
    assert unparsed(modules, scripts) == {}
    wrong = tmp_path / "wrong.js"
    wrong.write_text("export const x = ;\n")
    assert "SyntaxError" in unparsed({"wrong.js": wrong}, {})["wrong.js"]


LISTED = ["tests/test_parity.py", "tests/test_public_names.py", "tests/test_guides.py"]


def names(path: str) -> list[str]:
    return [each.relative_to(ROOT).as_posix() for each in near_tests(path)]


def test_a_module_is_near_to_its_examples_and_to_tests_that_import_it() -> None:
    found = names("scalarviz/data/plane.py")
    assert found[0] == "scalarviz/data/plane.py" and "tests/data/test_plane.py" in found
    assert "tests/training/session/test_undo.py" not in found


def test_lists_and_the_tests_of_the_folder_are_near_to_a_new_row() -> None:
    found = names("scalarviz/core/layers/kinds.py")
    assert {"tests/core/layers/test_layers.py", *LISTED} <= {*found}
    assert names("scalarviz/__init__.py") == ["scalarviz/__init__.py", *LISTED]
    assert names("scenes/xor.py") == ["tests/scenes/test_scenes.py", *LISTED]


def test_a_test_is_near_to_itself_and_other_files_to_none() -> None:
    assert names("tests/test_packaging.py") == ["tests/test_packaging.py"]
    assert names("README.md") == names("tests/nearest.py") == names("scalarviz/gone.py") == []
    assert main(["README.md"]) == 0


def test_every_matrix_has_cases_that_are_not_slow(pytestconfig: pytest.Config) -> None:
    for name, cases in pytestconfig.stash[MATRICES].items():
        assert any(item.get_closest_marker("slow") is None for item in cases), name


def test_chosen_cases_exist(pytestconfig: pytest.Config) -> None:
    for name, cases in pytestconfig.stash[MATRICES].items():
        chosen = {each for each in chosen_of(cases[0]) if isinstance(each, str)}
        here = {each for each in chosen if "cuda" in RUNNABLE or not OF_CUDA.search(f"-{each}]")}
        assert here <= {id_of(item) for item in cases}, name


@pytest.mark.some("b", "c")
@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_cases_are_chosen_by_their_ids(request: pytest.FixtureRequest, case: str) -> None:
    assert (request.node.get_closest_marker("slow") is None) == (case in ("b", "c"))


@pytest.mark.some(2)
@pytest.mark.parametrize("case", range(4))
def test_cases_are_evenly_spread(request: pytest.FixtureRequest, case: int) -> None:
    assert (request.node.get_closest_marker("slow") is None) == (case in (0, 2))
