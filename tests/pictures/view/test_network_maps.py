"""Pictures that are learned, by the graphics card: the colors that the cpu has, at each pixel."""

import logging
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.pictures.presenter.several import Several
from scalarviz.pictures.presenter.side_by_side import SideBySide
from scalarviz.pictures.presenter.stage import Stage
from scalarviz.pictures.view import map_card, network_maps
from scalarviz.pictures.view.cubes.cubes import CubesVisual
from scalarviz.pictures.view.exhibits.pictures import Pictures
from scalarviz.pictures.view.map_card import MapCard
from scalarviz.pictures.view.network_maps import NetworkMaps
from tests.studio import Studio

SIZE = 800, 500


@pytest.fixture(autouse=True)
def _in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which each map is quick enough."""
    monkeypatch.setattr(map_card, "UNSURE", np.inf)
    monkeypatch.setattr(map_card, "LEAST", 0)
    monkeypatch.setattr(network_maps, "RESTING", np.inf)
    monkeypatch.setattr(network_maps, "PLAYING", np.inf)


def staged(session: sv.Session, **settings: Any) -> Stage:
    stage = Stage(session, settings.pop("theme", "dark"))
    stage.by_card = settings.pop("by_card", True)
    for name, value in settings.items():
        setattr(stage, name, value)
    return stage


def texture(size: int = 32) -> sv.Session:
    net = sv.Network([sv.FrequencyEncoding(2, octaves=2), sv.Dense(8, 3, "sigmoid")], seed=1)
    net.bank.value[:] *= 2.0
    return sv.Session(net, data.Texture(size=size), engine="python")


def output_of(stage: Stage) -> Any:
    """Where the output of the network is in the picture."""
    exhibit = stage.reading.learned
    assert isinstance(exhibit, Pictures)
    return exhibit._places[1]


def answers(stage: Stage, right: np.ndarray, up: np.ndarray) -> np.ndarray:
    """What the network of a stage answers at places of its picture."""
    points = np.stack([right.ravel(), 1.0 - up.ravel()], axis=1)
    found: np.ndarray = stage.session.network(points)
    return found.reshape(*right.shape, 3)


def drawn(stage: Stage) -> NetworkMaps:
    maps: NetworkMaps = stage.picture().maps
    return maps


def inside(pixels: np.ndarray, box: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels well inside a box, and where they are in it: right and up, 0 to 1."""
    rows = np.arange(int(box.y) + 3, int(box.bottom) - 3)
    columns = np.arange(int(box.x) + 3, int(box.right) - 3)
    right = (columns + 0.5 - box.x) / box.width
    up = (box.bottom - rows - 0.5) / box.height
    return pixels[rows[:, None], columns], *np.meshgrid(right, up)


def assert_alike(seen: np.ndarray, wanted: np.ndarray, most: float = 0.03) -> None:
    """Within three levels of a color, but for samples and the edge between two colors."""
    apart = np.abs(seen - 255.0 * wanted).max(axis=-1)
    assert (apart > 3.0).mean() < most


@pytest.mark.slow
def test_a_texture_and_its_error_have_each_pixel(studio: Studio) -> None:
    session = texture(64)
    stage = staged(session)
    pixels = studio.stage(stage, size=(1000, 600))
    assert drawn(stage).drawn == 1
    exhibit = stage.reading.learned
    assert isinstance(exhibit, Pictures) and isinstance(session.data, data.Texture)
    target, output, error = exhibit._places
    seen, right, up = inside(pixels, output)
    assert_alike(seen, answers(stage, right, up), 0.02)  # but for the mark of the sample
    seen, right, up = inside(pixels, error)
    found = answers(stage, right, up)
    row, column = ((1.0 - up) * 64).astype(int), (right * 64).astype(int)
    apart = np.clip(0.5 + 5.0 * (found - session.data.picture[row, column]), 0.0, 1.0)
    # Between two texels a pixel of the screen may show either.
    assert (np.abs(seen - 255.0 * apart).max(axis=-1) > 8.0).mean() < 0.35
    middle = (np.abs((right * 64) % 1 - 0.5) < 0.2) & (np.abs((1.0 - up) * 64 % 1 - 0.5) < 0.2)
    assert (np.abs(seen - 255.0 * apart).max(axis=-1)[middle] > 12.0).mean() < 0.05
    seen, right, up = inside(pixels, target)
    row, column = ((1.0 - up) * 64).astype(int), (right * 64).astype(int)
    shown = session.data.picture[row, column]
    assert (np.abs(seen - 255.0 * shown).max(axis=-1)[::5, ::5] > 60.0).mean() < 0.2


def test_it_reads_the_texture_of_the_cubes(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    draw = MapCard.draw

    def spied(self: MapCard, network: Any, look: Any, target: Any, held: Any = None) -> None:
        seen.append(held)
        draw(self, network, look, target, held)

    monkeypatch.setattr(MapCard, "draw", spied)
    stage = staged(texture())
    studio.stage(stage, size=SIZE)
    held, line = seen[-1]
    cubes = stage.picture()._cubes
    assert isinstance(cubes, CubesVisual)
    assert (held, line) == (cubes._numbers, 0)
    # Other numbers in that texture: another map.
    before = studio.stage(stage, size=SIZE)
    stage.color = "gradient"  # the sizes still show the values
    stage.session.edit(0, 3.0)
    after = studio.stage(stage, size=SIZE)
    assert seen[-1][1] == 1
    seen_now, right, up = inside(after, output_of(stage))
    assert_alike(seen_now, answers(stage, right, up), 0.06)
    assert not np.array_equal(before, after)
    stage.size = "gradient"
    studio.stage(stage, size=SIZE)
    stage.session.edit(0, 1.0)
    studio.stage(stage, size=SIZE)
    assert seen[-1] is None  # a texture of its own


def test_a_map_is_drawn_once_for_each_set_of_numbers(studio: Studio) -> None:
    stage = staged(texture())
    for _ in range(3):
        studio.stage(stage, size=SIZE)
    assert drawn(stage).drawn == 1
    stage.session.advance(1)
    studio.stage(stage, size=SIZE)
    assert drawn(stage).drawn == 2
    studio.stage(stage, size=(1000, 700))
    stage.theme = "light"
    studio.stage(stage, size=(1000, 700))
    assert drawn(stage).drawn >= 3


def test_several_panes_have_their_own_maps(studio: Studio) -> None:
    shown = SideBySide(Several.of([texture(), texture(48)]))
    shown.by_card = True
    pixels = studio.stage(shown, size=(1600, 900))
    shown.by_card = False
    for stage in shown.stages:
        assert drawn(stage).drawn == 1
    plain = studio.stage(shown, size=(1600, 900))
    assert (np.abs(pixels - plain).max(axis=-1) > 40).mean() < 0.01


# ---- what the cpu draws


def test_pictures_for_files_are_drawn_by_the_cpu() -> None:
    assert not Stage(texture()).by_card


def test_a_card_that_is_too_slow_leaves_it_to_the_cpu(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, plain = staged(texture()), staged(texture(), by_card=False)
    monkeypatch.setattr(network_maps, "RESTING", 1e-12)
    pair = [studio.stage(each, size=SIZE) for each in (stage, plain)]
    assert drawn(stage).drawn == 0
    assert np.array_equal(*pair)


def test_a_slow_card_draws_fewer_pixels_if_they_are_finer_than_the_grid(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = staged(texture())
    studio.stage(stage, size=(1600, 1000))
    found = drawn(stage)._maps["output"]
    assert isinstance(found, network_maps.LearnedMap)
    whole = found.target.size
    assert min(whole) > 160
    card = drawn(stage)._card
    assert card is not None
    cost = card.cost
    monkeypatch.setattr(network_maps, "RESTING", 120**2 * cost)
    monkeypatch.setattr(map_card, "AGAIN_AFTER", np.inf)
    stage.session.advance(1)
    studio.stage(stage, size=(1600, 1000))
    assert 80 <= min(found.target.size) <= 120
    assert drawn(stage).drawn == 2


def test_a_large_network_is_not_compiled_where_a_small_one_is_slow(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_card, "UNSURE", 1.5)
    monkeypatch.setattr(map_card, "LEAST", 80)
    monkeypatch.setattr(map_card, "speed_of_context", lambda: 1.0)
    tried: list[object] = []
    monkeypatch.setattr(MapCard, "_try", lambda self, network: tried.append(network))
    stage = staged(texture())
    studio.stage(stage, size=SIZE)
    assert tried == [] and drawn(stage).drawn == 0


def test_the_speed_of_a_context_is_measured_once(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_card, "SPEEDS", {})
    measured: list[object] = []
    measure = MapCard._measure
    monkeypatch.setattr(
        MapCard, "_measure", lambda self, network: measured.append(1) or measure(self, network)
    )
    for _ in range(2):
        studio.stage(staged(texture()), size=SIZE)
    assert len(measured) == 3
    (speed,) = map_card.SPEEDS.values()
    assert 0.0 < speed < 1e-3


def said_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "by the cpu" in record.getMessage()]


def test_a_card_that_computes_wrongly_is_not_used(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(map_card, "SPEEDS", {studio.canvas.context: 0.0})
    monkeypatch.setattr(map_card, "program_forward", lambda program, *rest: {
        program.outputs.name: np.full((64, program.outputs.size), 0.25)})  # fmt: skip
    stage, plain = staged(texture()), staged(texture(), by_card=False)
    with caplog.at_level(logging.INFO, "scalarviz"):
        for _ in range(2):
            pixels = studio.stage(stage, size=SIZE)
    assert len(said_of(caplog)) == 1 and "relative error" in said_of(caplog)[0]
    assert np.array_equal(pixels, studio.stage(plain, size=SIZE))


def test_a_driver_that_does_not_compile_it_leaves_it_to_the_cpu(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(map_card, "SPEEDS", {studio.canvas.context: 0.0})
    made = map_card.map_fragment
    wrong = "void main() { nothing();"
    monkeypatch.setattr(
        map_card, "map_fragment", lambda *given: made(*given).replace("void main() {", wrong)
    )
    stage, plain = staged(texture()), staged(texture(), by_card=False)
    with caplog.at_level(logging.INFO, "scalarviz"):
        for _ in range(2):
            pixels = studio.stage(stage, size=SIZE)
    assert len(said_of(caplog)) == 1 and "driver" in said_of(caplog)[0]
    assert np.array_equal(pixels, studio.stage(plain, size=SIZE))


def test_without_float_textures_the_cpu_draws(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_card, "has_float_textures", lambda: False)
    stage = staged(texture())
    studio.stage(stage, size=SIZE)
    assert drawn(stage).drawn == 0


def session_of(layers: list[Any], **given: Any) -> sv.Session:
    network = sv.Network(layers, seed=0)
    return sv.Session(network, data.Texture(size=16), engine="cpu", **given)


@pytest.mark.parametrize(
    ("session", "told"),
    [
        (lambda: session_of([sv.Dense(2, 3), sv.BatchNorm(3), sv.Dense(3, 3)]), True),
        (lambda: session_of([sv.Dense(2, 3)], precision="mixed"), False),
        (lambda: sv.Session(sv.Network([3, 3]), data.Rgb(), engine="python"), False),
    ],
)
def test_what_a_shader_cannot_have_is_drawn_by_the_cpu(
    studio: Studio, session: Any, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    stage = staged(session())
    with caplog.at_level(logging.INFO, "scalarviz"):
        for _ in range(2):
            studio.stage(stage, size=SIZE)
    assert drawn(stage).drawn == 0
    assert len(said_of(caplog)) == int(told)


def test_nan_is_magenta(studio: Studio) -> None:
    session = texture()
    session.network.bank.value[-3:] = np.nan
    stage = staged(session)
    pixels = studio.stage(stage, size=SIZE)
    seen, _, _ = inside(pixels, output_of(stage))
    assert_alike(seen, np.array([1.0, 0.0, 1.0]), 0.1)


def test_a_released_picture_is_drawn_again(studio: Studio) -> None:
    stage = staged(texture())
    before = studio.stage(stage, size=SIZE)
    stage.release()
    assert np.array_equal(before, studio.stage(stage, size=SIZE))
    assert drawn(stage).drawn == 1
