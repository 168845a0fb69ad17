"""What machines elsewhere run: workflows, and the versions of tools that npm installs."""

import configparser
import json
import re

import pytest

from tests.root import ROOT

WEB = ROOT / "scalarviz" / "pages" / "web"
WORKFLOWS = {path.name: path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_calls_targets_of_the_makefile(name: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = " ".join(re.findall(r"run: make ([a-z -]+)", WORKFLOWS[name])).split()
    assert called and {*called} <= {*targets}


def test_tests_run_on_the_oldest_and_the_newest_python() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
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
