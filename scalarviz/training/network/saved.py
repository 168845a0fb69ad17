"""SavedNetwork: copies, files and the display of a network; `load` reads a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from scalarviz.base.checks import answered, true_or_false
from scalarviz.base.leaf_calls import (
    export_network,
    load_model,
    network_html,
    save_model,
    save_network,
)
from scalarviz.base.progress import Progress
from scalarviz.core.layers import Layer
from scalarviz.engines.registry import choose
from scalarviz.training.network.parts import NetworkParts

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network

# What `save` writes besides its own format, by the ending of the name.
WRITERS = {".onnx": save_model, **dict.fromkeys((".npz", ".glsl", ".hlsl"), export_network)}


class SavedNetwork(NetworkParts):
    """The base of Network: how it is copied, begun anew, saved, exported and displayed."""

    def save(self, path: object, *, progress: bool = True) -> None:
        """Write layers, numbers and optimizer slots to a file, for `sv.load(path)`.

        path      the file, .safetensors; one of that name is replaced, whole or not at all. With
                  the ending .onnx it is written as by `sv.onnx.save`, with .npz, .glsl or .hlsl as
                  by `export`: for other programs, without the slots
        progress  True, the default: a progress bar in a terminal or a notebook, if writing takes
                  longer than a second; False: none

        Raises InputError for the ending of another program's files, and FileError if the file
        cannot be written.
        """
        name = os.fsdecode(path) if isinstance(path, (str, os.PathLike)) else ""
        write = WRITERS.get(os.path.splitext(name)[1].lower(), save_network)
        with Progress(0, true_or_false(progress, "progress"), "megabytes"):
            write(cast("Network", self), path)

    def export(self, path: object, precision: str = "float32") -> None:
        """Write the network for other programs: a shader (.glsl, .hlsl) or arrays (.npz).

        path       the file; its ending determines the format
        precision  of the weights: "float32", the default, or "float16"

        Raises InputError for another ending or a layer that shaders do not support, and FileError
        if the file cannot be written.
        """
        export_network(cast("Network", self), path, precision)

    def copy(self, dtype: str | None = None) -> Network:
        """Return a network with the same layers and numbers; `dtype` None: the same dtype."""
        network = cast("Network", self)
        other = network.fresh(network.seed, dtype)
        other.to(self.engine, self.precision)
        other.bank.copy_from(self.bank)
        return other

    def is_as_made(self) -> bool:
        """Return whether nothing was computed, changed or handed out, and no session trains it."""
        new = cast("Network", self).fresh(cast("Network", self).seed)
        used = self._waiting or self._bank.session or any(each.is_in_use() for each in self._parts)
        return not used and self._bank.is_like(new.bank)

    def begin_with(self, layer: Layer) -> None:
        """Put a `layer` before the first one, in a network that is as it was made.

        The others get the initial numbers of their new rows, as if it had been made with it.
        """
        net = cast("Network", self)
        for each in self._parts:
            each.leave_bank(self._bank)
        vars(self).pop("program", None)
        row, layers = choose(self.engine, precision=self.precision), (layer, *self.layers)
        net._begin(layers, net.init, net.seed, row, self.precision, self.dtype)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Let the copy of the bank name its rows by the copy of the network."""
        self.__dict__.update(state)
        if not isinstance(getattr(self._bank.name_of, "__self__", None), type(self)):
            self._bank.name_of = self._row_name

    def _repr_html_(self) -> str:
        return network_html(cast("Network", self))


@answered
def load(path: object, engine: str = "python", *, limit: int | None = None) -> Network | Any:
    """Read a network, or a compiled function, from a file that its `save` wrote.

    path    the file, .safetensors
    engine  engine of the network: "python", the default, "cpu", "cuda" or "auto"
    limit   bytes that layers which the file only describes, and the numbers of one sample on its
            way through the network, may take; None, the default: 640 MB

    Raises FileError for a file that is damaged, of another kind or too large, and EngineError if
    the engine cannot run here.
    """
    return load_model(path, engine, limit)
