"""Layouts of followed models: what is folded, where it stands, and which numbers are drawn where.

structures.json.xz has the recorded structures of twelve models as dicts, see `Followed.structure`:
GPT of 12 blocks, ResNet-18, U-Net, VAE, LSTM, GAN, two Transformer encoders and smaller ones.
"""

import json
import lzma
from itertools import combinations, pairwise
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from scalarviz.core.program import Program
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.diagram import TEXTS, draw_diagram
from scalarviz.scene.layout.camera import Box, Camera
from scalarviz.scene.layout.model_layout import MOST, ModelLayout, Place
from scalarviz.scene.layout.model_picture import grid_corner, layout_of_model, plate_of
from scalarviz.scene.layout.model_tree import Item, tree_of
from scalarviz.scene.layout.model_walls import closed_wall, wall_of
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.scene.layout.projection import Projection
from scalarviz.story.facts import ArrayFacts

STRUCTURES = json.loads(
    lzma.decompress((Path(__file__).with_name("structures.json.xz")).read_bytes())
)
SIZES = (1232.0, 570.0), (760.0, 330.0), (1300.0, 700.0), (500.0, 600.0)
ONE_ROW = "unet"  # its skip connections forbid rows: a small picture is scaled down
LINES = 2.0  # pixels between the end of a line and its item


def outer(made: ModelLayout, item: Item) -> tuple[float, float, float, float]:
    """Left, upper, right and lower end of an item with the words below it."""
    place = made.places[item]
    return place.x, place.high, place.right, place.low + made._below(item)


def distance(x: float, y: float, place: Place) -> float:
    """Distance of a point from the edge of an item."""
    aside = max(place.x - x, x - place.right)
    below = max(place.high - y, y - place.low)
    return abs(max(aside, below)) if aside <= 0.0 or below <= 0.0 else float(np.hypot(aside, below))


def assert_tidy(made: ModelLayout) -> None:
    """Assert that no items overlap, children are in frames, and lines end at items."""
    items = [*made.root.visible()]
    assert made.count <= MOST
    for one, other in combinations(items, 2):
        if one.parent is other.parent:
            a, b = outer(made, one), outer(made, other)
            wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            assert min(wide, high) < 0.5, f"{one} is on {other}"
    for each in items:
        if each.parent is not made.root and each.parent is not None:
            inner, frame = outer(made, each), made.places[each.parent]
            assert frame.x <= inner[0] and inner[2] <= frame.right + 0.5
            assert frame.high <= inner[1] and inner[3] <= frame.low + 0.5
    for path in made.paths:
        ends = (path.points[0], path.start), (path.points[-1], path.end)
        assert all(distance(*point, made.places[item]) <= LINES for point, item in ends), path
    pairs = {(x.start, row_of(made, x.start), row_of(made, x.end)) for x in made.paths}
    pairs = {each for each in pairs if each[1] != each[2]}
    assert len({row for _, row, _ in pairs}) == len(pairs)  # one line to the next row


def row_of(made: ModelLayout, item: Item) -> int:
    """Row of the picture in which an item is."""
    return made.places[[item, *item.parents()][-2]].row


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", STRUCTURES)
def test_nothing_overlaps_and_lines_end_at_items(name: str, size: tuple[float, float]) -> None:
    made = ModelLayout(STRUCTURES[name], {}, *size)
    root = made.places[made.root]
    if name != ONE_ROW or size[0] > 1000.0:
        assert root.width <= size[0] and root.height <= size[1]
    assert_tidy(made)


SIZES_OF_ARRAYS: list[list[tuple[int, ...]]] = [
    [(8, 4), (8,)], [(16,)], [(4, 3, 3, 3)], [(300, 2)], [(2, 500), (2,)], [(64, 64)], [(5, 4, 3)],
]  # fmt: skip


def random_structure(random: Random) -> dict[str, Any]:
    """A structure of up to six frames and thirty nodes, with lines at random, also back."""
    count = random.randint(1, 6)
    frames = [
        {
            "path": f"m{i}", "kind": random.choice(["Block", ""]), "first": 5 * i, "times": 1,
            "parent": random.randrange(-1, i), "within": random.choice([[], ["encode"]]),
        }
        for i in range(count)
    ]  # fmt: skip
    nodes = []
    for i in range(5 * count):
        kind = random.choice(["module", "module", "function", "function", "input", "noise"])
        sizes = random.choice(SIZES_OF_ARRAYS) if kind == "module" else []
        name = random.choice(["Linear", "LSTM", "Dropout", "ConvTranspose2d"])
        word = random.choice(["relu", "+", "cat", "cross_entropy"])
        nodes.append(
            node(name if kind == "module" else word, sizes, f"n{i}")
            | {
                "id": i, "kind": kind, "path": f"n{i}", "frame": random.randrange(-1, count),
                "times": random.choice([1, 4]), "out": False, "shared": [], "settings": {},
                "within": random.choice([[], ["encode"], ["decode"]]), "shape": (2, 8),
            }
        )  # fmt: skip
    pairs = [(random.randrange(max(0, b - 4), b), b) for b in range(1, len(nodes))]
    pairs += [(random.randrange(len(nodes)), random.randrange(len(nodes))) for _ in range(3)]
    edges = [(a, b, (2, 8)) for a, b in dict.fromkeys(pairs)]
    return {"lack": "", "frames": frames, "nodes": nodes, "edges": edges}


@pytest.mark.parametrize("seed", range(30))
def test_any_structure_is_laid_out(seed: int) -> None:
    assert_tidy(ModelLayout(random_structure(Random(seed)), {}, *SIZES[seed % len(SIZES)]))


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_picture_is_the_same_twice(name: str) -> None:
    one, other = drawn(name), drawn(name)
    assert one.marks == other.marks
    for a, b in zip(one.plates, other.plates, strict=True):
        assert a.first == b.first and np.array_equal(a.origin, b.origin)


def drawn(name: str, opened: dict[str, bool] | None = None) -> Any:
    """The layout of a structure whose arrays are in a bank one after the other."""
    arrays: list[ArrayFacts] = []
    first = 0
    for node in STRUCTURES[name]["nodes"]:
        for array, shape in zip(node["arrays"], node["sizes"], strict=True):
            if array not in [each.name for each in arrays]:
                arrays.append(ArrayFacts(array, first, shape, shape, ()))
                first += prod(shape)
    program = Program(1)
    return layout_of_model(STRUCTURES[name], program, arrays, SIZES[0], opened or {})


def repeated(root: Item) -> dict[str, int]:
    return {each.path: each.times for each in root.frames() if each.units}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("nanogpt", {"transformer.h.0": 12}),
        ("vit", {"enc.layers.0": 6}),
        ("resnet18", {}),  # two blocks of different sizes in each of four frames
        ("encoder", {}),  # two are fewer than three
    ],
)
def test_equal_successive_modules_are_one_item(name: str, wanted: dict[str, int]) -> None:
    root, _ = tree_of(STRUCTURES[name])
    assert repeated(root) == wanted


def test_only_equally_wired_modules_are_one_item() -> None:
    structure = json.loads(json.dumps(STRUCTURES["nanogpt"]))
    blocks = [i for i, each in enumerate(structure["frames"]) if each["kind"] == "Block"]
    sums = [x["id"] for x in structure["nodes"] if x["frame"] == blocks[6] and x["name"] == "+"]
    skip = next(each for each in structure["edges"] if each[1] == sums[1] and each[0] == sums[0])
    structure["edges"].remove(skip)  # the seventh block lacks its second skip connection
    root, _ = tree_of(structure)
    assert [*repeated(root).values()] == [6, 5]


def words(item: Item) -> list[str]:
    return [*(word for each in item.leaves(every=True) for word in each.words)]


def test_the_items_of_known_models() -> None:
    trees = {name: tree_of(each) for name, each in STRUCTURES.items()}
    into = {n: [b for _, b in edges] for n, (_, edges) in trees.items()}
    counts = {"nanogpt": ("+", 25), "resnet18": ("+", 8), "unet": ("concat", 3)}
    for name, (sign, count) in counts.items():
        found = [x for x in trees[name][0].leaves(every=True) if x.words[:1] == [sign] and x.node]
        assert [into[name].count(x.node["id"]) for x in found if x.node] == [2] * count
    frames = {name: [x.key for x in root.frames()] for name, (root, _) in trees.items()}
    assert frames["vae"] == ["", ".encode", ".reparameterize", ".decode"]
    assert [x for x in frames["resnet18"] if x.count(".") == 0] == [
        "",
        "layer1",
        "layer2",
        "layer3",
        "layer4",
    ]
    said = ["relu", "× .5", "exp", "noise", "×", "+", "relu", "sigmoid"]
    assert words(trees["vae"][0]) == ["x", *said, "out", "32×4", "out", "32×4", "out", "32×64"]
    assert not any("drop" in word.lower() for root, _ in trees.values() for word in words(root))
    norm = next(x for x in trees["nanogpt"][0].leaves() if x.path.endswith("ln_1"))
    assert norm.weights == 96 and norm.kind == "wall"


def test_a_norm_that_is_written_out_is_one_wall() -> None:
    names = ["pow", "mean", "+", "rsqrt", "×", "×"]
    nodes = [
        {
            "id": i, "kind": "function", "name": name, "path": "", "frame": 0, "times": 1,
            "out": i == 5, "arrays": [], "sizes": [], "shared": [], "settings": {}, "ways": [],
            "within": [], "shape": (),
        }
        for i, name in enumerate(names)
    ]  # fmt: skip
    nodes[5] |= {"arrays": ["norm.weight"], "sizes": [(16,)]}
    before = nodes[0] | {"id": 6, "frame": -1, "kind": "input", "name": "x", "out": False}
    frame = {"path": "norm", "kind": "RMSNorm", "parent": -1, "first": 0, "times": 1, "within": []}
    pairs = [(6, 0), (0, 1), (1, 2), (2, 3), (3, 4), (6, 4), (4, 5)]
    edges = [(*pair, (2, 16)) for pair in pairs]
    root, left = tree_of({"nodes": [before, *nodes], "frames": [frame], "edges": edges})
    assert [(x.kind, x.words[:1], x.path) for x in root.children] == [
        ("wall", [], "norm"),
        ("input", ["x"], ""),
        ("output", ["out"], ""),
    ]
    assert [*left] == [(6, 0), (0, 7)] and nodes[0]["name"] == "pow"  # the record is not changed


def test_a_gan_leads_the_result_of_one_model_into_the_other() -> None:
    made = ModelLayout(STRUCTURES["gan"], {})
    into = {path.start.words[0] if path.start.words else path.start.name
            for path in made.paths if path.end.path == "D.net.0"}  # fmt: skip
    assert into == {"sigmoid", "x"}


def test_shared_weights_loops_and_skips_are_named() -> None:
    said = {n: [x.words for x in drawn(n).marks] for n in ("lstm", "nanogpt", "celloop", "unet")}
    assert "is encoder" in said["lstm"] and "is wte" in said["nanogpt"]
    assert "again at each step" in said["lstm"] and "12 × a pass" in said["celloop"]
    assert said["unet"].count("skip") == 3 and said["nanogpt"].count("skip") == 2
    assert "skip" not in [x.words for x in drawn("vae").marks]  # it goes around noise only
    assert [*"ifgo"] == [word for word in said["lstm"] if len(word) == 1 and word not in "xh"]
    assert {*"qkv", "4 heads"} <= {*said["nanogpt"]}
    assert "2 heads" in [x.words for x in drawn("encoder").marks]
    assert {"1 of 12", "h.0"} <= {*said["nanogpt"]}
    names = {"weight_ih_l0", "weight_hh_l0", "weight_ih_l1", "weight_hh_l1", "2 layers"}
    assert names <= {*said["lstm"]}
    assert {"in_proj", "out_proj"} <= {x.words for x in drawn("encoder").marks}
    assert "16×32×2²" in said["unet"]  # a transposed convolution from 32 to 16 channels


@pytest.mark.parametrize("name", ["lstm", "celloop"])
def test_a_loop_ends_in_its_own_arrowhead_on_top_of_its_item(name: str) -> None:
    made = ModelLayout(STRUCTURES[name], {})
    loop = next(each for each in made.paths if each.kind == "loop")
    place = made.places[loop.end]
    (x, above), end = loop.points[-2:]
    assert end == (x, place.high) and above < place.high and place.x < x < place.right


@pytest.mark.parametrize(("name", "end"), [("gan", "D.net.0"), ("lstm", "rnn")])
def test_lines_that_meet_at_an_item_have_separate_arrowheads(name: str, end: str) -> None:
    made = ModelLayout(STRUCTURES[name], {})
    heads = [x.points[-1] for x in made.paths if x.end.path == end and x.kind != "loop"]
    assert len(heads) == 2 and heads[0][0] == heads[1][0]
    assert abs(heads[0][1] - heads[1][1]) > 10.0


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("resnet18", ["16×10"]),
        ("nanogpt", ["4×32×65", ""]),
        ("gan", ["16×1"]),  # the result of G is read by D
        ("vae", ["32×4", "32×4", "32×64"]),
    ],
)
def test_results_are_shown_with_their_shape(name: str, wanted: list[str]) -> None:
    root, _ = tree_of(STRUCTURES[name])
    ends = [each.words for each in root.leaves() if each.kind == "output"]
    assert [words[0] for words in ends] == ["out"] * len(wanted)
    assert ["".join(words[1:]) for words in ends] == wanted


def test_a_label_that_is_also_an_input_has_no_line_to_the_loss() -> None:
    structure = json.loads(json.dumps(STRUCTURES["nanogpt"]))
    inputs = [each for each in structure["nodes"] if each["kind"] == "input"]
    reader = {name: next(b for a, b, _ in structure["edges"] if a == x["id"])
              for x in inputs for name in [x["name"]]}  # fmt: skip
    idx = next(each["id"] for each in inputs if each["name"] == "idx")
    structure["edges"].append([idx, reader["targets"], [4, 32]])
    made = ModelLayout(structure, {})
    assert [x.end.path for x in made.paths if x.start.kind == "input"] == ["transformer.wte"]
    assert made.root.children[0].words == ["idx"]


def test_any_repetition_can_be_shown() -> None:
    made = ModelLayout(STRUCTURES["nanogpt"], {}, opened={"transformer.h.0": 12})
    block = next(each for each in made.root.children if each.units)
    paths = [each.path for each in block.children if each.path]
    assert paths and all(each.startswith("transformer.h.11.") for each in paths)
    assert made.title(block)[0] == "h.11"
    first = ModelLayout(STRUCTURES["nanogpt"], {})
    assert [x.points for x in made.paths] == [x.points for x in first.paths]


def test_a_line_crosses_no_other_item_of_its_frame() -> None:
    made = ModelLayout(STRUCTURES["resnet18"], {}, opened={"layer2.0": 1})
    path = next(each for each in made.paths if each.start.path == "layer2.0.downsample")
    others = [x for x in made.root.visible() if x.parent is path.start.parent is not None]
    assert len(others) == 8 and path.end.words == ["+"]
    for (x, y), (right, low) in pairwise(path.points):
        for each in others:
            place = made.places[each]
            if each not in (path.start, path.end):
                assert (
                    max(x, right) < place.x
                    or min(x, right) > place.right
                    or (max(y, low) < place.high or min(y, low) > place.low)
                ), each


@pytest.mark.parametrize("name", ["branch", "vae"])
def test_a_line_to_a_function_runs_through_no_other_item_of_its_column(name: str) -> None:
    made = ModelLayout(STRUCTURES[name], {})
    for path in made.paths:
        (x, y), (right, low) = path.points[-2:]
        others = [made.places[each] for each in path.end.parent.children if each is not path.end]
        inner = [each for each in others if each.x < x < each.right and x == right]
        assert not [x for x in inner if min(y, low) < x.low and x.high < max(y, low)], path


def test_small_pictures_have_more_rows_and_no_maps_if_their_words_are_legible_then() -> None:
    structure = STRUCTURES["resnet18"]
    paths = {each["path"] for each in [*structure["nodes"], *structure["frames"]]}
    probed = {path: {"maps": (4, 9, 9)} for path in paths} | {"": {"output": (10,)}}
    made = ModelLayout({**structure, "probed": probed}, {}, 360.0, 552.0)
    whole = made.places[made.root]
    assert min(360.0 / whole.width, 552.0 / whole.height) > 0.9
    assert max(each.row for each in made.places.values()) >= 2
    large = ModelLayout({**structure, "probed": probed}, {}, *SIZES[0])
    [(item, place)] = [(x, y) for x, y in large.places.items() if x.kind == "output"]
    assert place.maps is not None and place.maps.part == "output" and item.words


def test_a_line_to_the_next_row_is_beside_the_words_of_its_start() -> None:
    made = ModelLayout(STRUCTURES["resnet18"], {}, *SIZES[3])
    rows = [(x, row_of(made, x.start), row_of(made, x.end)) for x in made.paths]
    for path in [path for path, first, last in rows if first < last]:
        start = [path.start, *path.start.parents()][-2]
        right = max(x for x, _ in path.points)
        assert right >= made.places[start].middle + 0.5 * made._label(start)


def test_a_closed_block_shows_its_skip_connection() -> None:
    made = ModelLayout(STRUCTURES["resnet18"], {})
    closed = {x.path: made.skips(x) for x in made.root.inside() if x.is_closed}
    assert closed["layer1.0"] == [(0, 1, "")]
    assert closed["layer2.0"] == [(0, 1, "skip: downsample")]
    opened = ModelLayout(STRUCTURES["resnet18"], {}, opened={"layer2.0": 1})
    layer = next(each for each in opened.root.children if each.path == "layer3")
    assert opened.skips(layer) == [(0, 1, "skip: downsample"), (3, 4, "")]
    layout = drawn("resnet18")
    assert len([each for each in layout.marks if each.look == "around"]) == 8
    assert [each.words for each in layout.marks].count("skip: downsample") == 3


@pytest.mark.parametrize("name", STRUCTURES)
def test_more_weights_have_more_area(name: str) -> None:
    made = ModelLayout(STRUCTURES[name], {})
    shown = [x for x in made.root.visible() if x.kind == "wall" or x.is_closed]
    shown = [x for x in shown if any(len(s) > 1 for s in x.arrays.values()) or x.is_closed]
    areas = []
    for each in sorted(shown, key=lambda x: x.weights):
        grids = made._wall(each, made._areas(1e4)[each]).grids
        cells = sum(x.cell[0] * x.cell[1] * size_of(x) for x in grids)
        areas.append((each.weights, cells))
    for (few, small), (many, large) in pairwise(areas):
        assert large >= 0.7 * small or many == few  # of closed frames, without vectors


def size_of(grid: Any) -> int:
    return len(plate_of(grid, (0.0, 0.0), 0, (0, 0)).cells()[2])


NODES = [
    ("Linear", [(10, 84), (10,)], 900.0),
    ("Linear", [(4, 32), (4,)], 20_000.0),
    ("Linear", [(192, 48), (192,)], 70_000.0),
    ("Conv2d", [(16, 3, 3, 3), (16,)], 9_000.0),
    ("Conv2d", [(64, 3, 7, 7)], 30_000.0),
    ("Conv2d", [(1, 8, 1, 1), (1,)], 600.0),
    ("Conv1d", [(6, 4, 5), (6,)], 3_000.0),
    ("ConvTranspose2d", [(16, 8, 2, 2), (8,)], 4_000.0),
    ("LSTM", [(32, 4), (32, 8), (32,), (32,)], 20_000.0),
    ("LayerNorm", [(48,), (48,)], 500.0),
    ("Embedding", [(1, 16, 32)], 5_000.0),
    ("Linear", [(3, 7000)], 60_000.0),
]


def node(kind: str, sizes: list[tuple[int, ...]], module: str = "a") -> dict[str, Any]:
    suffix = iter(
        ["weight", "weight_2", "bias", "bias_2"] if len(sizes) > 2 else ["weight", "bias"]
    )
    names = [f"{module}.{next(suffix)}" for _ in sizes]
    return {"name": kind, "arrays": names, "sizes": sizes, "ways": [], "path": module}


@pytest.mark.parametrize(("kind", "sizes", "area"), NODES)
def test_each_number_is_drawn_once_in_the_row_of_its_unit(
    kind: str, sizes: list[tuple[int, ...]], area: float
) -> None:
    given = node(kind, sizes)
    made = wall_of(given, {}, area)
    for name, shape in zip(given["arrays"], sizes, strict=True):
        seen: dict[int, tuple[float, float]] = {}
        for grid in made.grids:
            if grid.array == name:
                plate = plate_of(grid, (grid.x, grid.y), 0, (0, 0))
                row, column, index = plate.cells()
                assert plate.index_of(int(row[-1]), int(column[-1])) == index[-1]
                for each, y, x in zip(index.tolist(), row.tolist(), column.tolist(), strict=True):
                    assert each not in seen
                    seen[each] = grid.x + x * grid.cell[0], grid.y + y * grid.cell[1]
        assert sorted(seen) == [*range(prod(shape))]
        axis = 1 if kind.startswith("ConvTranspose") and len(shape) > 1 else 0
        numbers = np.arange(prod(shape)).reshape(shape)
        if len(shape) > 2 and shape[0] == 1 and kind == "Embedding":
            numbers = numbers[0]
        units = np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1)
        heights = [
            (min(seen[i][1] for i in unit), max(seen[i][1] for i in unit))
            for unit in units.tolist()
        ]
        lefts = [min(seen[i][0] for i in unit) for unit in units.tolist()]
        for i in range(1, len(units)):  # below the one before, or at the top of a new column
            assert heights[i][0] > heights[i - 1][1] or lefts[i] > lefts[i - 1]
    for grid in made.grids:
        assert grid.right <= made.width + 1e-6 and grid.bottom <= made.height + 1e-6


def test_a_folded_row_says_so_and_so_do_cells_below_a_pixel() -> None:
    assert "row in 3 lines" in [each.words for each in drawn("nanogpt").marks]
    shared = {"id": 0, "kind": "module", "path": "a", "frame": -1, "times": 1, "out": True}
    large = shared | node("Linear", [(1024, 1024)]) | {"within": [], "settings": {}}
    made = ModelLayout({"nodes": [large], "frames": [], "edges": []}, {})
    said = made.about(made.root.children[0])
    assert said[0] == "1024×1024" and said[1].endswith("tile: 3×3 weights")
    assert not any("1×1 weights" in each.words for name in STRUCTURES for each in drawn(name).marks)


def test_closed_repetitions_are_columns_with_named_rows() -> None:
    layout = drawn("nanogpt", {"transformer.h.0": False})
    said = [each.words for each in layout.marks]
    assert {"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"} <= {*said}
    assert [str(i) for i in range(12)] == [word for word in said if word.isdigit() and word != "48"]
    lines = [each for each in layout.marks if each.look == "around"]
    assert len(lines) == 2  # around the attention and around the perceptron
    assert len({plate.first for plate in layout.plates}) >= 48
    root, _ = tree_of(STRUCTURES["nanogpt"])
    block = next(each for each in root.frames() if each.units)
    grids = closed_wall(block, {}, 100_000.0).grids
    assert len([each for each in grids if each.first == 0]) == 48
    assert len({round(each.x) for each in grids}) == 12
    names = {name: prod(shape) for name, shape in block.arrays.items() if len(shape) > 1}
    assert {each.array for each in grids} == {*names}
    assert sum(map(size_of, grids)) == sum(names.values())  # each number once


def test_what_was_opened_stays_open() -> None:
    layout = drawn("resnet18")
    closed = {each.key for each in layout.marks if each.look == "closed"}
    assert "layer2.0" in closed
    opened = drawn("resnet18", {"layer2.0": True})
    frames = {each.key for each in opened.marks if each.look == "frame"}
    assert "layer2.0" in frames and "layer3.0" not in frames


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_diagram_has_few_legible_texts(name: str, theme: str) -> None:
    layout = drawn(name)
    camera = Camera(azimuth=0.0, elevation=0.0, fov=0.0)
    points = layout.extent
    middle, high = 0.5 * (points.min(axis=0) + points.max(axis=0)), float(np.ptp(points[:, 1]))
    camera = Camera(tuple(middle.tolist()), 0.0, 0.0, high, 0.0)
    width = high / PIXEL * 1.0
    box = Box(24.0, 78.0, float(np.ptp(points[:, 0])) / PIXEL, width)
    see = Projection(camera, box, 1280.0, 800.0)
    canvas = Canvas2D(1280.0, 800.0)
    draw_diagram(canvas, THEMES[theme], see, layout)
    names = [x.words for x in layout.marks if x.kind == "text"]
    assert canvas.words == names[:TEXTS] and len(canvas.vertices()) > 0


def test_a_model_without_edges_is_drawn_in_the_order_of_its_arrays() -> None:
    structure = STRUCTURES["nanogpt"] | {"edges": []}
    made = ModelLayout(structure, {})
    assert not made.paths and repeated(made.root) == {"transformer.h.0": 12}
    shown = [x for x in made.root.children if x.kind == "wall"]
    lefts = [made.places[x].x for x in shown]
    assert lefts == sorted(lefts) and len({*lefts}) == len(lefts)
    assert grid_corner(made.places[shown[0]])[0] >= made.places[shown[0]].x


@pytest.mark.parametrize("name", ["resnet18", "unet", "nanogpt", "vit"])
def test_maps_of_a_probe_are_in_their_items(name: str) -> None:
    structure = STRUCTURES[name]
    paths = {each["path"] for each in [*structure["nodes"], *structure["frames"]]}
    probed = {path: {"maps": (4, 9, 9), "attention": (3, 8, 8)} for path in paths}
    for size in SIZES[:2]:
        made = ModelLayout({**structure, "probed": probed}, {}, *size)
        assert_tidy(made)
        places = [each for each in made.places.values() if each.maps is not None]
        assert places or name == "nanogpt"
        for place in places:
            assert place.maps.width <= place.width + 0.01
            arrays = 0.0 if place.wall is None else place.wall.height
            assert place.maps.height + arrays <= place.height + 0.01
