"""The options of `scalarviz sweep`, for typer; what it does is in sweep_scene.py."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from scalarviz.faces.cli.parameters import beginning
from scalarviz.faces.scenefiles.find import scenes


def sweep_command() -> Callable[..., None]:
    """Return the function of `scalarviz sweep`."""
    scene = typer.Argument(
        metavar="SCENE",
        help="Name or file.",
        show_default=False,
        autocompletion=beginning(scenes()),
    )
    grid = typer.Option(
        [],
        "--grid",
        metavar="NAME=VALUE,VALUE",
        help="Values of an option; can be given several times. Values with commas are separated "
        "by semicolons.",
    )
    seeds = typer.Option("10", metavar="N", help="Number of seeds, or a range such as 5-14.")
    steps = typer.Option(2000, metavar="N", help="Steps of each training.")
    every = typer.Option(None, metavar="N", help="Steps between two checks; else 40 checks.")
    success = typer.Option(
        None,
        metavar="LOSS",
        help="A run succeeds when its loss is below this; else when every output is on the side "
        "of its target.",
    )
    ends = typer.Option(False, "--stop-at-success", help="End each network when it succeeds.")
    executor = typer.Option(
        "here",
        metavar="WHERE",
        help="here, processes, dask, or the address of a Dask scheduler, which must be trusted.",
        autocompletion=beginning(("here", "processes", "dask")),
    )
    out = typer.Option(None, "-o", "--out", metavar="FILE", help="Runs, as .csv or .parquet.")
    folder = typer.Option(
        None, metavar="FOLDER", help="Where results are kept; else beside the file."
    )

    picture = typer.Option(None, metavar="FILE", help="Draw the sweep as .png.")

    watched = typer.Option(False, "--watch", help="Open a window in which all networks learn.")

    networks = typer.Option(
        None,
        metavar="WHAT",
        help="How the picture shows each network: cubes, maps, swatches or losses.",
        autocompletion=beginning(("cubes", "maps", "swatches", "losses")),
    )
    order = typer.Option(
        None, metavar="COLUMN", help="Order by a column, such as loss, or -success: largest first."
    )
    group = typer.Option(None, metavar="COLUMN", help="Group the settings by a column.")

    def run(
        scene: str = scene,
        grid: list[str] = grid,
        seeds: str = seeds,
        steps: int = steps,
        every: int | None = every,
        success: str | None = success,
        stop_at_success: bool = ends,
        executor: str = executor,
        out: str | None = out,
        folder: str | None = folder,
        picture: str | None = picture,
        watch: bool = watched,
        networks: str | None = networks,
        order: str | None = order,
        group: str | None = group,
    ) -> None:
        from scalarviz.faces.cli.sweep_scene import sweep_scene

        sys.exit(
            sweep_scene(
                scene,
                grid,
                seeds,
                steps,
                every,
                success,
                stop_at_success,
                executor,
                out,
                folder,
                picture,
                watch,
                {"networks": networks, "order": order, "group": group},
            )
        )

    return run
