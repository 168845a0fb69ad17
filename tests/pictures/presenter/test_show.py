"""What a scene returns: a show, or a bare session."""

import numpy as np

import scalarviz as sv
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.stage.show import Show, whole_numbers
from tests.wording import refused


def test_a_bare_session_is_called_by_the_first_line_of_the_docstring(colours: sv.Session) -> None:
    def scene() -> None:
        """Learns colours.

        And more.
        """

    assert Show.of(colours, scene) == Show(colours, "Learns colours")


def test_without_a_docstring_it_is_called_by_its_network(colours: sv.Session) -> None:
    assert Show.of(colours).title == "Network 3 -> 8 -> 3"
    assert Show.of(Show(colours, hint="more"), lambda: None) == Show(
        colours, "Network 3 -> 8 -> 3", "more"
    )


def test_a_network_that_standardizes_is_called_by_its_sizes_and_what_learns_is_explained() -> None:
    inputs = np.array([[3.0, 500.0], [4.0, 100.0], [5.0, 300.0]])
    data = sv.data.Arrays(inputs, inputs[:, :1] > 3.5, standardize=True)
    s = sv.Session(sv.Network([2, 6, 1], "tanh", "sigmoid", seed=0), data, engine="python")
    s.advance(len(s.operations), "operation")
    assert Show.of(s).title == "Network 2 -> 6 -> 1"
    assert s.caption().rows == (4,) and "frozen" not in s.caption().title
    s.freeze([*range(len(s.network.bank))])
    assert "frozen" in s.caption().title


def test_a_title_of_its_own_stays(colours: sv.Session) -> None:
    def scene() -> None:
        """Learns colours."""

    assert Show.of(Show(colours, "mine"), scene).title == "mine"


def test_what_is_no_show_is_refused(colours: sv.Session) -> None:
    with refused(InputError, "3"):
        Show.of(3)
    with refused(InputError, "None"):
        Show(None)  # type: ignore[arg-type]  # on purpose
    for wrong in ({"speed": 0}, {"steps": 0}):
        with refused(InputError, "0"):
            Show(colours, **wrong)  # type: ignore[arg-type]  # on purpose
    with refused(UnknownNameError, "frame"):
        Show(colours, frame=128)  # type: ignore[call-arg]  # it is gone with the terminal


def test_sizes_are_read_from_a_text() -> None:
    assert whole_numbers("8,4", "hidden") == [8, 4]
    assert whole_numbers("", "channels", least=0) == []
    with refused(InputError, "'8,x'"):
        whole_numbers("8,x", "hidden")
