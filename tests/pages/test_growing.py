"""A rate at which the numbers of a page grow beyond all bounds is told, once."""

from __future__ import annotations

from pathlib import Path

import pytest

import scalarviz as sv
from tests.pages.pages import InPage
from tests.pages.test_engine import rgb

WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()


def line() -> sv.Session:
    """A linear network, whose loss has no bound."""
    data = [[0.0], [1.0], [2.0]], [[1.0], [3.0], [5.0]]
    net = sv.Network([1, 1], "linear", seed=0)
    return sv.Session(net, data, optimizer=sv.SGD(0.1), engine="python")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("session", "rates", "told"),
    [
        (rgb, [None, 1e30, 1e30], [False, True, False]),
        (line, [None, 3.0, 3.5], [False, True, True]),
        (line, [None, 0.2], [False, False]),
    ],
)
def test_it_is_told_once_for_each_rate(
    session: object, rates: list[float | None], told: list[bool], tmp_path: Path
) -> None:
    found = InPage(session(), tmp_path).run(f"""
        const {{ Growing }} = await import("{WEB}/messages.js");
        const growing = new Growing();
        const clock = new Clock(engine);
        let since = 0;
        const take = () => {{
          const state = clock.state(since);
          since = clock.losses.end;
          return growing.take(state);
        }};
        take();
        return {str(rates).replace("None", "null")}.map((rate) => {{
          if (rate) clock.change({{ kind: "rate", rate }});
          return Array.from({{ length: 20 }}, () => clock.advance(1) ?? take()).some(Boolean);
        }});
    """)
    assert found == told


def test_a_weight_that_is_typed_is_not_taken_for_it(tmp_path: Path) -> None:
    assert (
        InPage(rgb(), tmp_path).run(f"""
        const {{ Growing }} = await import("{WEB}/messages.js");
        const growing = new Growing();
        const clock = new Clock(engine);
        growing.take(clock.state());
        clock.change({{ kind: "edit", row: 3, value: 99999 }});
        return growing.take(clock.state());
    """)
        is False
    )
