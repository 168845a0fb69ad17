"""Goes through a training step operation by operation, and looks at the pixels."""

from collections.abc import Iterator

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.core.program import NONE
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.visuals.shaders import HALF
from scalarviz.stage.narration import NO_CAPTION
from scalarviz.stage.stage import Stage
from tests.studio import Studio, ground_of, shade

SIZE = (1000, 700)
NAMES = [
    *("zero_grad", "affine 0", "tanh 0", "affine 1", "sigmoid 1", "loss", "delta 1"),
    *("weight gradient 1", "input gradient 1", "delta 0", "weight gradient 0", "step"),
]


class Walk:
    """Someone who goes by operations and looks at any part of each."""

    def __init__(
        self,
        studio: Studio,
        activation: str = "tanh",
        scale: float = 1.0,
        *,
        marks: bool = False,
    ) -> None:
        net = sv.Network([3, 8, 3], activation, output="sigmoid", seed=0)
        net.bank.value[:] *= scale
        self.session = sv.Session(
            net, data.Rgb(levels=4), "mse", sv.SGD(0.5), batch=8, engine="python"
        )
        self.session.advance(2)
        self.studio = studio
        self.stage = Stage(self.session, camera="flat")
        if not marks:  # words on cubes cover what is measured
            self.stage.narration.caption = lambda *given: NO_CAPTION
        self.now = 0.0
        self.look(1.0)

    def look(self, part: float) -> np.ndarray:
        """The picture when so much of the operation is shown."""
        seconds = self.stage.motion.seconds
        return self.studio.stage(self.stage, self.now + seconds * part + (part == 1.0), SIZE)

    def go(self, by: int = 1) -> str:
        """One operation on, or back; the name of that one."""
        if by > 0:
            self.session.advance(1, "operation")
            name = self.session.done
        else:
            name = self.session.done
            self.session.back(1, "operation")
        self.now += 10.0
        self.look(0.0)
        return name

    def go_to(self, name: str) -> None:
        while self.go() != name:
            pass

    @property
    def see(self) -> Projection:
        return self.stage.picture().see(self.stage.frame_data(), self.stage.eyes.camera, *SIZE)

    def cubes(self) -> Iterator[tuple[int, int, int, int, np.ndarray]]:
        """Of each cube: the layer, row, column, row of the bank, and where its middle is seen."""
        see = self.see
        for plate in self.stage.plan.plates:
            for row, column in np.ndindex(plate.rows, plate.columns):
                xy = see(plate.point(column + 0.5, row + 0.5, HALF)).xy[0]
                yield plate.layer, row, column, plate.index_of(row, column), xy

    def colors(self) -> np.ndarray:
        """What the cubes' colors are at rest."""
        frame_data = self.stage.frame_data()
        return shade("dark", frame_data.cubes.colors, float(frame_data.cubes.color_scales[0]))

    def unit(self) -> float:
        return float(self.see(np.zeros((1, 3))).unit[0])


def faded(color: np.ndarray, bright: float) -> np.ndarray:
    ground = ground_of("dark")
    return ground + bright * (color - ground)


def widths(walk: Walk, pixels: np.ndarray) -> dict[int, float]:
    """How wide each cube is seen to be, as a part of the largest."""
    found, unit = {}, walk.unit()
    ground = ground_of("dark")
    for _, _, _, index, (x, y) in walk.cubes():
        # Beside the wire, which goes through the middle, some way behind.
        run = pixels[int(y) + 3, round(x - unit / 2) : round(x + unit / 2)]
        away = np.abs(run - ground).max(axis=1) > 6
        found[index] = float(away.sum() / (2.0 * HALF * unit))
    return found


def biases(walk: Walk) -> set[int]:
    return {
        row
        for each in walk.session.network.program.operations
        if each.biases != NONE
        for row in range(each.biases, each.biases + each.target.size)
    }


def go_by_neurons(stage: Stage, by: int) -> None:
    """Go on by neurons, or back if negative, as a controller does."""
    session = stage.session
    place, program = session.clock.place, stage.reading.program
    operations = stage.by_neuron.go(program, place, by, waits=False)
    if operations > 0:
        session.advance(operations, "operation")
    elif operations:
        session.back(-operations, "operation")
