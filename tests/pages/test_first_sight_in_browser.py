"""What a page shows before anybody has done anything has plain numbers only."""

from pathlib import Path

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.pages.page import page_of
from scalarviz.stage.show import Show
from tests.pages.conftest import Opens
from tests.pictures.presenter.test_numbers_at_first_sight import NOT_PLAIN

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "texture", "digits"])
def test_no_number_has_an_exponent_or_is_a_zero_with_a_sign(
    opened: Opens, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(page_of(Show.of(load(find(name))())).text)
    tab = opened(file).ready()
    tab.settle()
    drawn = tab.ask("app.picture.words")
    lines = tab.page.inner_text("body").splitlines()
    assert any(any(letter.isdigit() for letter in each) for each in drawn) and lines
    assert [each for each in [*drawn, *lines] if NOT_PLAIN.search(each)] == []
