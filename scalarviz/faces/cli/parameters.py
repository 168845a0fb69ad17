"""Options as parameters of a function, in typer's form: how they are shown, and how they complete.

A shell asks for what can follow by running the command again; it offers files where there is no
answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from scalarviz.faces.cli.completion import in_shell

if TYPE_CHECKING:  # the options of scenes load numpy
    from scalarviz.faces.scenefiles.options import Option

Complete = Callable[[str], list[str]]

# What stands for the value in a help text, by the type of the option; switches have none.
METAVARS = {bool: "", int: "N", float: "NUMBER", str: "TEXT", Path: "FILE"}
NAME, NAME_AND_VALUE, CONDITION = "NAME", "NAME=VALUE", "CONDITION"


class QuietGroup(TyperGroup):
    """A group of commands with a quieter help: see `quieter`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with quieter(self.get_params(ctx)):
            super().format_help(ctx, formatter)


class QuietCommand(TyperCommand):
    """A command with a quieter help: see `quieter`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with quieter(self.get_params(ctx)):
            super().format_help(ctx, formatter)


@contextmanager
def quieter(parameters: Iterable[Any]) -> Iterator[None]:
    """Leave out of a help text types of Python, and the `--no-...` of switches that are off.

    typer writes `<bool>` and `<str>` for them.
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
    """Return options as parameters of a function, in typer's form; `panel` is their heading."""
    from scalarviz.faces.scenefiles.options import kind_of

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
                autocompletion=None if kind_of(option) is bool else beginning(option.info.names),
            ),
        )
        for name, option in options.items()
    ]


def metavar_of(option: Option) -> str:
    """Return what stands for the value of an option in its help."""
    if option.kind == list[str]:
        return CONDITION if tuple(option.info.names) else NAME_AND_VALUE
    from scalarviz.faces.scenefiles.options import kind_of

    kind = kind_of(option)
    return NAME if kind is str and tuple(option.info.names) else METAVARS[kind]


def with_parameters(
    run: Callable[..., None], parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function that takes any options by name the parameters that typer reads."""
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def beginning(names: Iterable[str]) -> Complete:
    """Return a function that returns those of some names that begin with a text."""

    def complete(incomplete: str) -> list[str]:
        return [in_shell(name) for name in names if name.startswith(incomplete)]

    return complete
