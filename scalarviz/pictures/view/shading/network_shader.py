"""shader: a network as a fragment shader, which the graphics card evaluates for many samples."""

from __future__ import annotations

from typing import Self, final
from weakref import finalize, ref

from scalarviz.base.checks import FloatArray, answered, as_batch, not_copied, shorten
from scalarviz.core.program import Program
from scalarviz.errors import InputError, OrderError, ShapeError
from scalarviz.files.shaders.live_shader import LiveShader
from scalarviz.pictures.view.shading.evaluation import Core, Evaluation, Release, text_of
from scalarviz.pictures.view.shading.result import ShaderResult
from scalarviz.pictures.view.shading.service import Service, service
from scalarviz.training.network.network import Network
from scalarviz.training.session.session import Session


@answered
def shader(network: Network | Session) -> NetworkShader:
    """Return a network as a fragment shader: called with samples, it returns their outputs.

    The graphics card evaluates it, by the text that `network.export("net.glsl")` writes, on a
    thread with an OpenGL context of its own, which needs no window. The parameters are those at the
    time of each call. `request(X)` does not wait.

    network  a Network; or a Session, whose numbers are read between two steps while it trains

    A network that a shader cannot have is computed by the cpu engine, and a message says why, as
    where there is no OpenGL. Results are those of float32; see `NetworkShader`. Raises InputError
    for anything else, and DisplayError in a process that was forked from one that has used it.
    """
    return NetworkShader(network)


@final
class NetworkShader:
    """A network that the graphics card evaluates, or the cpu engine where it cannot.

    engine          "shader" or "cpu": what computes
    why             why the cpu computes; "" if it does not
    renderer        name of what draws; "" before the first outputs
    relative_error  largest error of the first samples, compared with float64, relative to their
                    largest output; NaN before the first outputs, and on the cpu

    A sample with NaN or infinity gives NaN in all outputs. It is closed by `close()`, or as a
    context manager. `sv.shader` makes one.
    """

    def __init__(self, network: Network | Session) -> None:
        found = network.network if isinstance(network, Session) else network
        if not isinstance(found, Network):
            raise InputError(
                f"a shader is made of a Network or a Session of one, not of {shorten(network)}: "
                "write sv.shader(network)"
            )
        self._shown = network
        self._thread = service()
        self._core = Core()
        self._newest: ShaderResult | None = None
        self._text: tuple[Program | None, LiveShader | None, str] = (None, None, "")
        self._closed = finalize(self, release, self._thread, self._core)
        self._closed.atexit = False

    __reduce_ex__ = not_copied(
        "a shader, which stands on a graphics card", "make another one by sv.shader(network)"
    )

    def __repr__(self) -> str:
        net = self._network
        where = self.renderer or self.engine
        return f"NetworkShader {net.inputs} -> {net.outputs}, {len(net.bank):,} parameters, {where}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _network(self) -> Network:
        found = self._shown.network if isinstance(self._shown, Session) else self._shown
        assert isinstance(found, Network)
        return found

    @property
    def engine(self) -> str:
        return "cpu" if self.why else "shader"

    @property
    def why(self) -> str:
        return self._shader()[1] or self._core.why

    @property
    def renderer(self) -> str:
        return self._core.renderer

    @property
    def relative_error(self) -> float:
        return self._core.error

    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, of shape (inputs,) or (batch, inputs); wait for them.

        Raises ShapeError for another shape, and OrderError after `close`.
        """
        return self.request(x).read()

    def request(self, x: object) -> ShaderResult:
        """Ask for the outputs for some samples, and return their ShaderResult at once.

        x  shape (inputs,) or (batch, inputs); or the ShaderResult of another shader

        The parameters are those of now. Requests are computed in their order; one whose result
        nobody keeps is left out. Raises ShapeError for another shape, and OrderError after `close`.
        """
        if not self._closed.alive:
            raise OrderError("this shader was closed: make another one by sv.shader(network)")
        net = self._network
        samples: FloatArray | ShaderResult
        if isinstance(x, ShaderResult):
            samples, single = x, x.single
            if x.outputs != net.inputs:
                outputs = f"the {x.outputs} outputs of a result"
                raise ShapeError(f"the network takes {net.inputs} inputs, not {outputs}")
        else:
            samples, single = as_batch(
                x, net.inputs, net.CALLED, finite=False, picture=net.input_shape
            )
        self._thread = service()
        snapshot = self._shown.snapshot()
        snapshot.request()
        result = ShaderResult(self._thread, net.outputs, single)
        self._newest = result
        task = Evaluation(self._core, net, *self._shader(), samples, snapshot, ref(result))
        self._thread.put(task)
        return result

    @property
    def ready(self) -> bool:
        """Whether the outputs of the newest request have arrived."""
        return self._newest is not None and self._newest.ready

    def read(self) -> FloatArray:
        """Return the outputs of the newest request; wait for them.

        Raises OrderError if there was none.
        """
        if self._newest is None:
            raise OrderError("a shader was read before its first request: call request(X)")
        return self._newest.read()

    def close(self) -> None:
        """Free its memory on the graphics card, once what was requested is computed."""
        self._closed()

    def _shader(self) -> tuple[LiveShader | None, str]:
        """Return the text of the network as it is now, or why there is none."""
        net = self._network
        if self._text[0] is not net.program:
            self._text = (net.program, *text_of(net))
        return self._text[1:]


def release(thread: Service, core: Core) -> None:
    """Free what a shader has on the graphics card, after all tasks that were put before."""
    if core.used and thread.is_own:
        thread.put(Release(core))
