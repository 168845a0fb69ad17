"""An address as a QR code in a terminal."""

import pytest
import segno

from scalarviz.faces.browser import serve as module
from scalarviz.faces.browser.serve import BLOCKS, BORDER, qr_code

ADDRESS = "http://192.168.1.5:8000/?token=ABC234"


def test_its_blocks_are_the_modules_of_the_code_light_on_dark() -> None:
    halves = {block: pair for pair, block in BLOCKS.items()}
    rows = [
        row for line in qr_code(ADDRESS) for row in zip(*(halves[c] for c in line), strict=True)
    ]
    code = segno.make(ADDRESS, micro=False).matrix
    dark = [
        [not light for light in row[BORDER:-BORDER]] for row in rows[BORDER : BORDER + len(code)]
    ]
    assert dark == [[bool(each) for each in row] for row in code]
    assert all(rows[0]) and all(row[0] and row[-1] for row in rows[:-1])


def test_without_the_package_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert qr_code(ADDRESS) == []
