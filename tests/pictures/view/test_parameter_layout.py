"""The layout of single values: where they stand."""

from itertools import combinations

import numpy as np
import pytest

from scalarviz.pictures.view.scene.parameter_layout import of_values


@pytest.mark.parametrize(
    "rows", [[0], [3, 9], list(range(12)), list(range(13)), list(range(5, 64))]
)
def test_single_values_stand_side_by_side(rows: list[int]) -> None:
    names = [f"value {row}" for row in rows]
    layout = of_values(rows, names)
    shown = [p.index_of(r, c) for p in layout.plates for r, c in np.ndindex(p.rows, p.columns)]
    assert sorted(shown) == rows
    boxes = [(flat.min(axis=0), flat.max(axis=0)) for flat in (p.corners() for p in layout.plates)]
    for (low, high), (start, end) in combinations(boxes, 2):
        assert (high <= start + 1e-6).any() or (end <= low + 1e-6).any()
    if len(rows) <= 12:
        assert [each.words for each in layout.written] == names
