"""The tests near to a change are those that import it, its examples, and changed tests."""

from tests.nearest import main, near_tests
from tests.root import ROOT

LISTED = ["tests/test_parity.py", "tests/test_public_names.py", "tests/test_readme.py"]


def names(path: str) -> list[str]:
    return [each.relative_to(ROOT).as_posix() for each in near_tests(path)]


def test_a_module_is_near_to_its_examples_and_to_tests_that_import_it() -> None:
    found = names("scalarviz/data/rgb.py")
    assert found[0] == "scalarviz/data/rgb.py" and "tests/data/test_colors.py" in found
    assert "tests/training/session/test_undo.py" not in found


def test_lists_and_the_tests_of_the_folder_are_near_to_a_new_row() -> None:
    found = names("scalarviz/core/layers/kinds.py")
    assert {"tests/core/layers/test_layers.py", *LISTED} <= {*found}
    assert names("scalarviz/__init__.py") == ["scalarviz/__init__.py", *LISTED]
    assert names("scenes/xor.py") == ["tests/scenes/test_scenes.py", *LISTED]


def test_a_test_is_near_to_itself_and_other_files_to_none() -> None:
    assert names("tests/test_nearest.py") == ["tests/test_nearest.py"]
    assert names("README.md") == names("tests/nearest.py") == names("scalarviz/gone.py") == []
    assert main(["README.md"]) == 0
