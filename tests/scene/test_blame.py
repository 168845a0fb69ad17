"""How blame comes to a weight: parts that add up, tags that say so, and what is kept clear."""

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.scene.blame import THIN, SeenLayer, boxes_of, lit_by_blame, unit_width
from scalarviz.scene.callout import draw_told
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.focus import blame_in
from scalarviz.scene.layout.division import Box
from scalarviz.scene.lines import carried, known_fan
from scalarviz.scene.marks import cube_boxes
from scalarviz.scene.picture import LOW, beside_network, draw_beside, side_in, write_ends
from scalarviz.stage.explained_sample import sample_to_explain
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Blame, Caption
from scalarviz.story.facts import NONE
from scalarviz.story.names import color_name
from scalarviz.training.session.reading import caption, facts_of, state_of
from tests.scene.measures import Words, at_each_operation, dense_session, played, projection
from tests.sessions import advanced

DARK = THEMES["dark"]
NETS = [
    ([3, 8, 3], ("tanh", "sigmoid"), "mse"),
    ([2, 4, 1], ("tanh", "sigmoid"), "mse"),
    ([2, 4, 3, 1], ("tanh", "linear"), "sigmoid_cross_entropy"),
    ([4, 5, 3, 3], ("leaky_relu", "linear"), "softmax_cross_entropy"),
]


def session_of(sizes: list[int], kinds: tuple[str, str], loss: str, seed: int = 0) -> sv.Session:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(8, sizes[0]))
    goals = rng.integers(0, 2, size=(8, sizes[-1])).astype(float)
    if loss.startswith("softmax"):
        goals = np.eye(sizes[-1])[rng.integers(0, sizes[-1], size=8)]
    network = sv.Network(sizes, *kinds, seed=seed)
    return sv.Session(network, (x, goals), loss=loss, optimizer=sv.SGD(0.5), batch=4)


def blamed(session: sv.Session, steps: int = 6) -> Iterator[tuple[Caption, Blame]]:
    """Captions of gradients of weights that say how blame comes, with the session at each."""
    for _ in range(steps * len(session.operations)):
        session.advance(1, "operation")
        found = caption(session)
        if found.blame is not None:
            yield found, found.blame


@pytest.mark.parametrize(("sizes", "kinds", "loss"), NETS, ids=str)
def test_parts_add_up_to_the_blame_of_the_neuron_and_tags_have_their_signs(
    sizes: list[int], kinds: tuple[str, str], loss: str
) -> None:
    session, count = session_of(sizes, kinds, loss), 0
    for found, blame in blamed(session):
        state, facts = state_of(session), facts_of(session)
        name, place = found.neurons[0]
        reader = next(each for each in facts.operations if each.source == name)
        source = reader.target if reader.kind == "activation" else name
        gradients = np.array(state.gradients[source]) * state.batch
        parts = [each.amount for each in blame.parts]
        assert sum(parts) == pytest.approx(blame.total, abs=1e-12)
        assert blame.total == pytest.approx(-gradients[place], rel=1e-4, abs=1e-7)
        assert abs(gradients[place]) == np.abs(gradients).max()  # the one that is blamed most
        for each in blame.parts:
            behind, unit = each.neuron
            delta, weight = state.gradients[behind][unit], state.value[each.row]
            assert each.amount == pytest.approx(-delta * weight * state.batch, rel=1e-5)
            more = [text(f"blame.{key}.more", start="", sign="") for key in ("bit", "tag")]
            assert (each.words.split(": ")[1] in {x.split(": ")[1] for x in more}) == (
                each.amount > 0.0
            )
            keys = "much", "high", "less.neuron"
            much = [text(f"blame.{key}", name="").strip() for key in keys]
            assert any(each.words.find(key) >= 0 for key in much) == (delta > 0.0), each.words
            sign = text("blame.sign.plus" if weight > 0.0 else "blame.sign.minus")
            assert f"weight {sign}" in each.words  # always
        added = text("blame.added.more"), text("blame.added.less")
        assert blame.words == added[int(blame.total < 0.0)]
        # The sample asks for what the batch asks for: the head is true of both.
        is_higher = text("captions.way.up") in found.title
        if blame.row != NONE:
            assert is_higher == (session.network.bank.grad[blame.row] < 0.0)
        elif not blame.stays:  # it comes to a neuron
            assert ("should rise" in found.title) == (gradients[place] < 0.0) == (blame.total > 0.0)
        count += 1
    assert count > 2


def test_tags_have_nine_words_at_most() -> None:
    names = [color_name(name) for name in "RGB"]
    starts = [text(f"blame.{way}", name=name) for way in ("much", "little") for name in names]
    starts += [text(f"blame.{way}") for way in ("high", "low")]
    starts += [text(f"blame.{way}.neuron") for way in ("more", "less")]
    for start in starts:
        for way in ("more", "less"):
            tags = (
                text(f"blame.bit.{way}", start=start, sign=text("blame.sign.minus")),
                text(f"blame.tag.{way}", start=start, sign=text("blame.sign.minus")),
                text(f"blame.added.{way}"),
            )
            assert all(len(tag.replace("×", "").split()) <= 9 for tag in tags), tags


ROWS = "tanh 3-8-3"  # a network whose layers are rows of cubes, with wires


def stages(name: str, size: tuple[int, int], steps: int = 89) -> Iterator[Stage]:
    """The stage of a scene, or of `ROWS`, at each operation in which blame is shown."""
    if name == ROWS:
        show = Show.of(advanced(dense_session(name), steps))
    else:
        show = played(name, steps, engine="cpu")
    show.session.focus = sample_to_explain(show.session) or 0
    for stage in at_each_operation(show, size):
        if blame_in(stage.frame_data()) is not None:
            yield stage


def layers_of(stage: Stage, see: Any) -> list[SeenLayer]:
    frame_data = stage.frame_data()
    found = []
    for fan in frame_data.layout.fans:
        known = known_fan(fan, frame_data.layout, see, 1.0)
        assert known is not None
        found.append(SeenLayer(fan, known.seen, carried(fan, frame_data).halves))
    return found


@pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)
@pytest.mark.parametrize(
    ("name", "beats", "least"), [("rgb", 3, 2), ("circle", 6, 2), (ROWS, 3, 4)]
)
def test_words_about_blame_cover_no_cube_gate_or_ball(
    name: str, beats: int, least: int, size: tuple[int, int]
) -> None:
    count = tags = 0
    for stage in stages(name, size):
        count += 1
        frame_data, see, canvas = stage.frame_data(), projection(stage), Words(*size)
        taken = write_ends(canvas, see, frame_data, DARK)
        boxes = draw_told(canvas, see, frame_data, taken, DARK)
        tags += len(boxes)
        solid: list[Box] = []
        if frame_data.layout.crossbar is not None:
            rows = [row for fan in frame_data.layout.fans for row in fan.all_rows.flat]
            solid += cube_boxes(see, frame_data, rows, None)
        else:
            for layer in layers_of(stage, see):
                solid += boxes_of(layer.seen, layer.halves)
        solid += [Box(x - r, y - r, 2 * r, 2 * r) for x, y, r in taken.spheres.tolist()]
        for i, box in enumerate(boxes):
            assert not any(box.meets(each) for each in [*solid, *boxes[:i]])
            assert box.x >= 0.0 and box.right <= size[0] and box.y >= 0.0
    assert count == beats and (tags >= least or size == (800, 500))


def test_ways_are_as_wide_as_their_blame_and_grow_where_they_meet() -> None:
    *_, stage = islice(stages(ROWS, (1280, 800)), 3)
    frame_data, see = stage.frame_data(), projection(stage)
    blame = blame_in(frame_data)
    assert blame is not None
    layers = layers_of(stage, see)
    own, last = layers
    widen = unit_width(last.seen, blame)
    amounts = [abs(each.amount) for each in blame.parts]
    lit = lit_by_blame(last.fan, last.seen, last.halves, blame, 1.0)
    widths = [width for _, width in lit]
    assert widths[0:6:2] == pytest.approx([THIN + widen * each for each in amounts])
    # From the lowest row up the column, then along the wire to the neuron.
    sums = np.abs(np.cumsum([each.amount for each in blame.parts][::-1]))
    assert widths[6:9] == pytest.approx([*(THIN + widen * sums)])
    assert widths[9] == pytest.approx(THIN + widen * abs(blame.total))
    for (path, _), (after, _) in pairwise(lit[6:10]):
        assert path[-1] == pytest.approx(after[0], abs=1.0)  # without a gap
    ((path, width),) = lit_by_blame(own.fan, own.seen, own.halves, blame, 1.0)
    assert width == pytest.approx(THIN + 0.9 * widen * abs(blame.total), rel=0.2)
    assert path[0][0] > path[-1][0]  # back to the cube
    assert lit_by_blame(own.fan, own.seen, own.halves, blame, 0.3) == []


@pytest.mark.parametrize("name", ["digits", "expression", "micrograd"])
def test_without_rows_of_dense_layers_a_wish_is_drawn_as_before(name: str) -> None:
    assert not [*stages(name, (1280, 800), 2)]


@pytest.mark.parametrize("name", ["rgb", "circle"])
def test_a_trial_stands_below_out_and_what_else_is_there_makes_room(name: str) -> None:
    for stage in stages(name, (1280, 800)):
        frame_data = stage.frame_data()
        division = frame_data.division(1280, 800)
        exhibit, room, panel = beside_network(frame_data, division)
        assert exhibit is not None and panel is not None
        places = exhibit.places(room, division.scale)
        assert places.out.bottom < panel.y and panel.bottom <= division.exhibit.bottom
        notes = Words(1280, 800)
        side = side_in(frame_data, told=True)
        if side is None:  # of the blame of a neuron the ways say all
            continue
        draw_beside(notes, frame_data, panel, side, DARK)
        assert all(panel.x <= box.x and box.right <= panel.right for _, box in notes.found)
        stage.resize(390, 844)
        frame_data = stage.frame_data()
        *_, none = beside_network(frame_data, frame_data.division(390, 844))
        assert none is None or none.height <= LOW[1]  # only for a sentence
