"""The terms of a sum on a page stand where those of a window do, at each moment."""

from typing import Any

import numpy as np
import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.pages.scene_data import camera_data, colors_of, layout_data, scene_data
from scalarviz.scene.pace import SUM, longest, moved
from scalarviz.stage.show import Show
from tests.pages.in_web import in_web
from tests.pages.samples import SEE, box_data
from tests.pages.states import state_of
from tests.pages.walks import caption_as_data
from tests.pictures.view.drawn_terms import DARK, drawn_terms
from tests.pictures.view.measures import projection, stage_of

SIZE = 1280, 800
PARTS = [0.0, 0.1, 0.3, 0.42, 0.55, 0.79, 0.8, 1.0]
BODY = f"""{SEE}
const scene = unpackedAll(data.scene);
const layout = new Layout(unpackedAll(data.layout));
const state = unpackedAll(data.state);
const remembered = new Remembered(new Scales(scene.stops, 5));
remembered.take(state, ["value"], 0);
return data.parts.map((part) => {{
  const frame = frameOf(scene, layout, state, {{ part, caption: data.caption }}, remembered, 0);
  const [boxes, words] = [[], []];
  const paper = {{
    measure: (words, {{ size = 13 }} = {{}}) => 0.6 * size * words.length,
    box: (x, y, width, height, fill, {{ outline = null }} = {{}}) =>
      boxes.push([x, y, width, height, fill, outline]),
    text: (x, y, said) => words.push([x, y, said]),
    segment: () => null,
  }};
  const palette = new Palette(data.theme);
  const {{ boxes: taken, spheres }} = data.taken;
  const at = taken.map(({{ x, y, width, height }}) => new Box(x, y, width, height));
  drawCallout({{ paper, see, frame, palette, scale: 1, lit: null }}, {{ boxes: at, spheres }});
  return {{ boxes, words }};
}});"""


@pytest.mark.parametrize("name", ["rgb", "xor", "circle"])
def test_a_page_draws_the_terms_of_a_window(name: str) -> None:
    show, found = Show.of(load(find(name))(engine="cpu")), 0
    show.session.advance(2)
    for _ in show.session.operations:
        show.session.advance(1, "operation")
        stage = stage_of(show, SIZE)
        seen = stage.frame_data()
        caption, see = seen.words.caption, projection(stage)
        if caption is None or caption.summed is None:
            continue
        drawn = [drawn_terms(stage, part) for part in PARTS]
        taken = drawn[0][2]
        known: dict[str, Any] = {"boxes": [*map(box_data, taken.boxes)], "spheres": taken.spheres}
        pictures = in_web(
            "arrays layout camera scales frame_data palette callout",
            BODY,
            box=box_data(see.box),
            camera=camera_data(stage.eyes.camera),
            size=SIZE,
            reach=30.0,
            state=state_of(stage, seen),
            scene=scene_data(show),
            layout=layout_data(stage.plan),
            caption=caption_as_data(caption),
            theme=colors_of(DARK),
            taken=known,
            parts=PARTS,
        )
        for part, (notes, _, _), picture in zip(PARTS, drawn, pictures, strict=True):
            assert [each[2] for each in picture["words"]] == [each[2] for each in notes.said], part
            assert len(picture["boxes"]) == len(notes.noted), part
            for ours, theirs in zip(notes.noted, picture["boxes"], strict=True):
                np.testing.assert_allclose(theirs[:4], ours[:4], atol=0.05)
                assert theirs[4:] == [*ours[4:]], part
        found += 1
    assert found >= 2


def test_a_page_takes_the_same_time() -> None:
    session = load(find("rgb"))(engine="cpu").session
    program, data = session.network.program, scene_data(session)
    seconds = [longest(program, moment) for moment in program.moments]
    assert SUM in seconds and data["pace"]["longest"] == seconds
    body = """
    const motion = new Motion(data.pace, false), told = [];
    const shares = data.parts.map((part) => data.seconds.map((each) =>
      movedPart(data.pace, part, each)));
    data.pace.longest.forEach((_, moment) => {
      for (const given of [0, 0.5]) {
        motion.given = given;
        const state = { step: moment, operation: moment + 1, moment, focus: 0 };
        const rest = { ...state, operation: moment, moment: -1 };
        motion.follow(rest, 50 * moment, false);
        motion.follow(state, 50 * moment + 20, false);
        told.push(motion.seconds);
      }
    });
    motion.finish();
    return { told, shares, end: motion.at(50 * data.pace.longest.length).part };"""
    parts, spans = [0.0, 0.2, 0.5, 0.6, 1.0], [0.0, 0.1, 0.9, 2.4]
    found = in_web("motion", body, pace=data["pace"], parts=parts, seconds=spans)
    assert found["shares"] == [[pytest.approx(moved(p, each)) for each in spans] for p in parts]
    assert found["told"][1::2] == [pytest.approx(0.475)] * len(seconds) and found["end"] == 1
