"""What a page shows after a jump: undo, a reset, another branch, a step far away."""

from __future__ import annotations

import json
from pathlib import Path

import scalarviz as sv
from scalarviz.base.texts import texts
from tests.pages.pages import InPage
from tests.pages.test_engine import rgb

WEB = (Path(sv.__file__).parent / "pages" / "web").as_uri()


def test_scales_are_chosen_anew_after_a_jump_and_only_then(tmp_path: Path) -> None:
    found = InPage(rgb(), tmp_path).run(f"""
        const {{ Remembered }} = await import("{WEB}/frame_data.js");
        const {{ Scales }} = await import("{WEB}/scales.js");
        const remembered = new Remembered(new Scales([1, 2, 5, 10], 5));
        const one = client(), scales = [];
        let now = 0;
        const after = async (name, args) => {{
          const state = await one.ask(name, args);
          remembered.take(state, ["value"], (now += 10));
          scales.push(remembered.scales.of("value"));
          return [state.undoable, state.redoable];
        }};
        const counts = [
          await after("state"),
          await after("edit", {{ row: 3, value: 99 }}),
          await after("edit", {{ row: 3, value: 0 }}),
          await after("advance", {{ count: 1, unit: "operation" }}),
          await after("back", {{ count: 1, unit: "operation" }}),
          await after("undo"),
          await after("redo"),
        ];
        return [scales, counts];
    """)
    (first, *scales), counts = found
    assert first <= 2 and scales == [100, 100, 100, 100, first, first]
    assert counts == [[0, 0], *[[1, 0]] * 4, [0, 1], [1, 0]]


def test_the_loss_at_rest_is_said_to_be_that_before_an_edit(tmp_path: Path) -> None:
    found = InPage(rgb(), tmp_path).run(f"""
        const {{ restWords }} = await import("{WEB}/captions.js");
        const {{ setTexts }} = await import("{WEB}/texts.js");
        setTexts({json.dumps(dict(texts()))});
        const clock = new Clock(engine);
        const said = () => restWords(clock.state()).replace(/[\\d.]+\\d/, "X");
        clock.advance(6);
        const told = [said()];
        for (const value of [1, -1]) {{
          clock.change({{ kind: "edit", row: 3, value }});
          told.push(said());
        }}
        clock.undo();
        return [...told, said()];
    """)
    is_now, was = (
        "After 6 steps the loss is X.",
        "After 6 steps the loss was X, before your change.",
    )
    assert found == [is_now, was, was, is_now]
