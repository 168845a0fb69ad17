"""Of each matrix of cases `make test` runs some."""

import pytest

from tests.cases import MATRICES, chosen_of, id_of


def test_every_matrix_has_cases_that_are_not_slow(pytestconfig: pytest.Config) -> None:
    for name, cases in pytestconfig.stash[MATRICES].items():
        assert any(item.get_closest_marker("slow") is None for item in cases), name


def test_chosen_cases_exist(pytestconfig: pytest.Config) -> None:
    for name, cases in pytestconfig.stash[MATRICES].items():
        chosen = {each for each in chosen_of(cases[0]) if isinstance(each, str)}
        assert chosen <= {id_of(item) for item in cases}, name


@pytest.mark.some("b", "c")
@pytest.mark.parametrize("case", ["a", "b", "c"])
def test_cases_are_chosen_by_their_ids(request: pytest.FixtureRequest, case: str) -> None:
    assert (request.node.get_closest_marker("slow") is None) == (case in ("b", "c"))


@pytest.mark.some(2)
@pytest.mark.parametrize("case", range(4))
def test_cases_are_evenly_spread(request: pytest.FixtureRequest, case: int) -> None:
    assert (request.node.get_closest_marker("slow") is None) == (case in (0, 2))
