"""Builds the release files, and tests them in environments that contain nothing else.

    python -m docs.build_release     writes to dist/; run `make docs` first: links are checked

The wheel is built from the source distribution, and must equal the wheel built from the checkout.
Another wheel, for Linux on x86-64, also contains all kernels, compiled. That one is installed into
empty environments: with the system's Python, with the newest Python found,
and with the oldest numpy, numba and vispy that setup.cfg permits. In each environment it must
write a page, train without a screen, pass its doctests, and run lesson 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from configparser import ConfigParser
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from docs import build_kernels
from scalarviz.engines.codegen import machine_code

ROOT = Path(__file__).parent.parent
DIST, SITE = ROOT / "dist", ROOT / "build" / "docs"
MEGABYTE = 1e6
LARGEST = 4.0, 8.0  # megabytes of the wheel, and of that with kernels
LINUX = "manylinux_2_17_x86_64"  # kernels call memset and printf of the C library
STOCK = "/usr/bin/python3"
OLDEST, TOOLS = ("numpy", "numba", "vispy"), ("pytest", "nbclient")
LINK = re.compile(r"\]\(\s*([^)\s#]*)")

AT_ONCE = "trains, without compiling kernels unless numba is an older one"
# Commands run in an initially empty folder, by name; {} is the folder of the programs.
TRIALS = {
    AT_ONCE: "{}/scalarviz train rgb --steps 10",
    "writes a page": "{}/scalarviz page rgb -o rgb.html",
    "trains without a screen": "script -eqc {}/scalarviz /dev/null </dev/null",
    "passes its doctests": "{}/python -m pytest -q -p no:cacheprovider --import-mode=importlib "
    "--doctest-modules --doctest-ignore-import-errors --pyargs scalarviz",
    "copies the lessons": "{}/scalarviz lessons",
    "runs lesson 1": "{}/jupyter execute scalarviz-lessons/notebooks/01-one-weight.ipynb",
    "writes lesson 1 as a page": "{}/scalarviz lesson 01",
}

settings = ConfigParser()
settings.read(ROOT / "setup.cfg", encoding="utf-8")


def main() -> None:
    """Build, check and test the release; raise an error at the first failure."""
    os.environ.pop("PYTHONPATH", None)  # pip would treat packages there as installed
    wheel = built()
    check_links(wheel)
    wheel = with_kernels(wheel)
    print_sizes(wheel)
    for name, (python, constraints) in environments().items():
        try_in(name, python, constraints, wheel)
    print((ROOT / "docs" / "RELEASE.md").read_text(encoding="utf-8").rpartition("\n## ")[2])


def built() -> Path:
    """Return the wheel built from the source distribution; it must equal the checkout's wheel."""
    for folder in (DIST, ROOT / "build" / "lib"):  # pip would pack what an earlier build left
        shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "scalarviz.engines.wasm.module")
    # Without the option, the build lists each file.
    run(sys.executable, *"-m build -C--global-option=--quiet --outdir".split(), str(DIST), ".")
    (wheel,) = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder, ".")
        if contents(wheel) != contents(Path(folder, wheel.name)):
            raise ValueError("the source distribution and the checkout make different wheels")
    return wheel


def with_kernels(wheel: Path) -> Path:
    """Return a wheel for Linux with the content of a wheel, and all kernels compiled."""
    run(sys.executable, "-m", "docs.build_kernels")
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "wheel", "unpack", "-d", folder, str(wheel))
        (unpacked,) = Path(folder).iterdir()
        place = unpacked / machine_code.FOLDER.relative_to(ROOT)
        place.mkdir()
        for archive in build_kernels.FOLDER.glob("*.zip"):
            shutil.copy(archive, place)
        run(sys.executable, "-m", "wheel", "pack", "-d", folder, str(unpacked))
        packed = Path(folder, wheel.name)
        run(sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", LINUX, str(packed))
        (tagged,) = Path(folder).glob("*.whl")
        return Path(shutil.move(tagged, DIST))


def run(*command: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


def contents(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist()}


def check_links(wheel: Path) -> None:
    """Raise LookupError if a link in the description or in the guide is broken."""
    address = settings["metadata"]["url"]
    for name, content in contents(wheel).items():
        described = name.endswith("/METADATA")
        if not described and not name.endswith(".md"):
            continue
        for link in LINK.findall(content.decode()):
            page = SITE / link.removeprefix(address).strip("/")
            if link.startswith(address) and not page.exists():
                raise LookupError(f"{name} links to {link}, of which `make docs` has no page")
            if described and link and not link.startswith("https://"):
                raise LookupError(f"the description links to {link}, which is nowhere in an index")


def print_sizes(wheel: Path) -> None:
    """Print the sizes of the release files; raise ValueError if the wheel is too large."""
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / MEGABYTE:6.2f} MB  {path.name}")
        if path.suffix == ".whl" and path.stat().st_size > LARGEST[path == wheel] * MEGABYTE:
            raise ValueError(f"{path.name} has more than {LARGEST[path == wheel]} MB")
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    print(f"{size / MEGABYTE:6.2f} MB  the site\nOf the wheel:")
    parts: Counter[str] = Counter()
    with ZipFile(wheel) as file:
        for entry in file.infolist():
            parts["/".join(entry.filename.split("/")[:2])] += entry.compress_size
    for part, bytes_of_it in parts.most_common(8):
        print(f"{bytes_of_it / MEGABYTE:6.2f} MB  {part}")


def environments() -> dict[str, tuple[str, list[str]]]:
    """Return the environments to test, by name: path of a Python, and pinned package versions."""
    bounds = SpecifierSet(settings["options"]["python_requires"])
    names = ["python3", *(f"python3.{minor}" for minor in range(11, 20))]
    pythons = {version_of(path): path for path in map(shutil.which, names) if path}
    suitable = [each for each in pythons if each in bounds]
    newest = max(suitable, key=lambda version: [*map(int, version.split("."))])
    stock = STOCK if Path(STOCK).exists() else pythons[newest]
    named = {stock: version_of(stock), pythons[newest]: newest}
    found = {f"Python {version}": (path, list[str]()) for path, version in named.items()}
    required = settings["options"]["install_requires"].splitlines()
    wanted = [Requirement(line) for line in required if line and not line.startswith("#")]
    lowest = [
        f"{each.name}=={bound.version}"
        for each in wanted
        for bound in each.specifier
        if each.name in OLDEST and bound.operator == ">="
    ]
    return found | {f"Python {version_of(stock)}, {', '.join(lowest)}": (stock, lowest)}


def version_of(python: str) -> str:
    """Return the version of the Python at a path; "0" if the program is not a Python."""
    asked = [python, "-c", "import platform; print(platform.python_version())"]
    done = subprocess.run(asked, capture_output=True, text=True)
    return done.stdout.strip() or "0"


def try_in(name: str, python: str, constraints: list[str], wheel: Path) -> None:
    """Install a wheel into an empty environment and run TRIALS; raise RuntimeError if one fails."""
    print(f"{name}:", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        home, place = Path(folder, "home"), Path(folder, "place")
        home.mkdir()
        place.mkdir()
        run(python, "-m", "venv", f"{folder}/venv")
        programs = f"{folder}/venv/bin"
        run(f"{programs}/pip", "install", "-q", f"{wheel}[lessons]", *TOOLS, *constraints)
        clean = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        for trial, command in TRIALS.items():
            done = subprocess.run(
                command.replace("{}", programs),
                cwd=place,
                env={**clean, "HOME": str(home)},
                shell=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            compiles = trial == AT_ONCE and not constraints and "compiles" in done.stdout
            if done.returncode or compiles:
                raise RuntimeError(f"{name}, {trial!r} failed: {done.args}\n{done.stdout[-4000:]}")
            print(f"  {trial}", flush=True)


if __name__ == "__main__":
    main()
