"""Convert options to the parameters that typer expects, with help and shell completion.

For completion, a shell runs the command with the current line in environment variables. If the
command returns no completions, the shell completes file names.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from scalarviz.faces.scene_file import scenes

if TYPE_CHECKING:
    from scalarviz.faces.scene_options import Option


Complete = Callable[[str], list[str]]

# Placeholders for values in a help text, by option type, except flags.
METAVARS = {bool: "", int: "N", float: "NUMBER", str: "TEXT", Path: "FILE"}
NAME, NAME_AND_VALUE, CONDITION = "NAME", "NAME=VALUE", "CONDITION"
CONTEXT = "_context"  # key of typer's context, which distinguishes typed options from defaults


class QuietGroup(TyperGroup):
    """A group of commands with a shorter help text, see `quieter`.

    Attributes:
        shown: options of its commands, which are also listed in its help text
    """

    shown: Sequence[Any] = ()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.params = [*self.params, *self.shown]  # for the help only, which ends the command
        with quieter(self.get_params(ctx)):
            super().format_help(ctx, formatter)


class QuietCommand(TyperCommand):
    """A command with a shorter help text, see `quieter`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with quieter(self.get_params(ctx)):
            super().format_help(ctx, formatter)


@contextmanager
def quieter(parameters: Iterable[Any]) -> Iterator[None]:
    """Omit Python types and the `--no-...` forms of flags from help texts within this context.

    By default, typer would write `<bool>` and `<str>`.
    """
    hidden = []
    for each in parameters:
        if each.param_type_name == "argument":
            each.display_type_rich = lambda ctx: None
        elif each.is_flag:
            each.metavar = ""
            if each.default is False:
                hidden.append((each, each.secondary_opts))
                each.secondary_opts = []
    try:
        yield
    finally:
        for each, opts in hidden:
            each.secondary_opts = opts


def as_parameters(options: Mapping[str, Option], panel: str) -> list[inspect.Parameter]:
    """Return options as parameters of a typer command; `panel` is their heading in the help."""
    from scalarviz.faces.scene_options import kind_of

    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=option.kind,
            default=typer.Option(
                option.default,
                *((option.short, f"--{name}") if option.short else ()),
                help=option.help,
                rich_help_panel=panel,
                show_default=option.default is not False,
                metavar=metavar_of(option),
                callback=checking(name, option),
                autocompletion=None if kind_of(option) is bool else beginning(option.info.names),
            ),
        )
        for name, option in options.items()
    ]


def checking(name: str, option: Option) -> Callable[[Any], Any]:
    """Return a function that returns a valid value of the option, or raises UnknownNameError."""

    def checked(value: Any) -> Any:
        option.check(value, name)
        return value

    return checked


def metavar_of(option: Option) -> str:
    """Return the placeholder for the value of an option in its help."""
    if option.kind == list[str]:
        return CONDITION if tuple(option.info.names) else NAME_AND_VALUE
    from scalarviz.faces.scene_options import kind_of

    kind = kind_of(option)
    return NAME if kind is str and tuple(option.info.names) else METAVARS[kind]


def with_options(
    run: Callable[[dict[str, Any], set[str]], int], *parameters: inspect.Parameter
) -> Callable[..., None]:
    """Return a command that calls `run(all options, typed options)` and exits with its result."""
    kind = inspect.Parameter.KEYWORD_ONLY
    whole = [inspect.Parameter(CONTEXT, kind, annotation=typer.Context), *parameters]

    def command(**given: Any) -> None:
        context = given.pop(CONTEXT)
        typed = {each for each in given if context.get_parameter_source(each).name != "DEFAULT"}
        sys.exit(run(given, typed))

    command.__signature__ = inspect.Signature(whole)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in whole}
    return command


def beginning(names: Iterable[str]) -> Complete:
    """Return a shell completion function that returns the names starting with a given text."""

    def complete(incomplete: str) -> list[str]:
        return [in_shell(name) for name in names if name.startswith(incomplete)]

    return complete


# Shell completion: the input from shells, and the format of the result.

SHELL = "_SCALARVIZ_COMPLETE"
BASH = "complete_bash"


def is_completing() -> bool:
    """Return whether a shell requests completions."""
    return SHELL in os.environ


def words_to_complete() -> list[str]:
    """Return the command and the scene to complete; empty if the shell requests no completions."""
    if not is_completing():
        return []
    join_values()
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    words = line.split()[1:3]
    return words if words[:1] == ["open"] or (len(words) == 2 and words[1] in scenes()) else []


def join_values() -> None:
    """Replace the words `--name = value`, into which bash splits `--name=value`, by two words."""
    words, count = os.environ.get("COMP_WORDS", "").split(), os.environ.get("COMP_CWORD", "")
    if os.environ[SHELL] != BASH or not count.isdecimal():
        return
    typed = words[: int(count) + 1]
    kept = [
        word
        for before, word in zip(["", *typed], typed, strict=False)
        if word != "=" or not before.startswith("--")
    ]
    after = int(typed[-1:] == ["="] and len(kept) < len(typed))  # the value is still empty
    os.environ["COMP_WORDS"] = "\n".join(kept)
    os.environ["COMP_CWORD"] = str(int(count) - (len(typed) - len(kept)) + after)


def in_shell(name: str) -> str:
    """Return a name as the shell expects it: for bash, spaces are escaped."""
    return name.replace(" ", "\\ ") if os.environ.get(SHELL) == BASH else name


# The options of `scalarviz sweep`, which is implemented in sweep_scene.py.


def sweep_command() -> Callable[..., None]:
    """Return the function that typer calls for `scalarviz sweep`."""
    grid = typer.Option(
        [],
        "--grid",
        metavar="NAME=VALUE,VALUE",
        help="Values of an option; repeatable. Separate values that contain commas by semicolons.",
    )

    def run(
        scene: str = typer.Argument(
            metavar="SCENE",
            help="Name or file.",
            show_default=False,
            autocompletion=beginning(scenes()),
        ),
        grid: list[str] = grid,
        seeds: str = typer.Option(
            "10", metavar="N", help="Number of seeds, or a range such as 5-14."
        ),
        steps: int = typer.Option(2000, metavar="N", help="Steps of each training run."),
        every: int | None = typer.Option(
            None, metavar="N", help="Steps between two checks; default: 40 checks in all."
        ),
        success: str | None = typer.Option(
            None,
            metavar="LOSS",
            help="A run succeeds when its loss is below this.",
        ),
        goal: str | None = typer.Option(
            None,
            metavar="NAME",
            help="Rank by loss, held_out_loss, accuracy, held_out_accuracy or another metric; "
            "default: the held-out loss, or the loss without held-out samples.",
        ),
        executor: str = typer.Option(
            "here",
            metavar="WHERE",
            help="here, processes, dask, or the address of a Dask scheduler, which must be "
            "trusted.",
            autocompletion=beginning(("here", "processes", "dask")),
        ),
        out: str | None = typer.Option(
            None,
            "-o",
            "--out",
            metavar="FILE",
            help="One run per line, as .csv; the table of settings is printed.",
        ),
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
                goal,
                executor,
                out,
            )
        )

    return run
