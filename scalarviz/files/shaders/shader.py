"""Writes a network as one GLSL or HLSL function with its weights as constants.

Each operation of the program becomes a block of lines, each buffer an array of floats. Weight
matrices are cut into 4 x 4 blocks, padded with zeros, because GPUs multiply those at once; so the
length of every buffer is padded to a multiple of 4.

The code needs GLSL 1.20 or GLSL ES 3.00 (WebGL 2), or HLSL shader model 4, which has 4,096
constants of four floats. Compilers are slow with many constants: Mesa's software renderer took 7 to
17 seconds for 13,500 weights, and did not finish 100,000 in 8 minutes. Hence the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.base.checks import FloatArray
from scalarviz.errors import InputError
from scalarviz.files.shaders.constants import NAME, PARTS, ConstantShader, Language, Shader, padded
from scalarviz.files.shaders.kinds import write_operation

if TYPE_CHECKING:
    from scalarviz.training.network.network import Network

WIDEST_VECTOR = len(PARTS)
MOST_WEIGHTS = 2**14
MOST_NUMBERS = 2**13  # floats that a shader holds per pixel


def write_shader(net: Network, values: FloatArray, language: Language, note: str) -> str:
    """Return the source of a shader that computes a network.

    net       the network
    values    its parameters, in bank order
    language  GLSL or HLSL
    note      a remark for the comment at its head

    Raises InputError if the network is too large for a shader.
    """
    if len(values) > MOST_WEIGHTS:
        raise InputError(
            f"the network has {len(values):,} parameters, and a shader can hold {MOST_WEIGHTS:,}: "
            "export it as .npz and hand the shader a texture, or make the network smaller"
        )
    check_workspace(net)
    shader = ConstantShader(net, values, language)
    body = body_of(shader, net)
    pieces = [
        heading(net, language, note),
        *shader.tables.values(),
        *shader.writer.sources,
        row_function(shader, net, body),
    ]
    if max(net.inputs, net.outputs) <= WIDEST_VECTOR:
        pieces.append(vector_function(net, language))
    return "\n\n".join(pieces) + "\n"


def check_workspace(net: Network) -> None:
    """Raise InputError if a network holds more numbers for a sample than a shader can."""
    if net.program.workspace > MOST_NUMBERS:
        raise InputError(
            f"the network holds {net.program.workspace:,} numbers for each sample, and a shader "
            f"can hold {MOST_NUMBERS:,}: export it as .npz, or give it smaller pictures"
        )


def body_of(shader: Shader, net: Network) -> list[list[str]]:
    """Return the lines of each operation, which also name the arrays of `shader`."""
    return [write_operation(shader, operation) for operation in net.program.operations]


def reading(shader: Shader, net: Network) -> list[str]:
    """Return lines that declare the arrays and read the inputs, which are in `x`."""
    x = shader.array(net.program.inputs)
    return [
        *[f"float {name}[{size}];" for name, size in shader.arrays().items()],
        *[f"{x}[{i}] = 0.0;" for i in range(net.inputs, padded(net.inputs))],
        f"for (int i = 0; i < {net.inputs}; i++) {x}[i] = x[i];",
    ]


def row_function(shader: Shader, net: Network, body: list[list[str]]) -> str:
    """Return the function that computes all outputs."""
    y = shader.array(net.program.outputs)
    lines = [
        *reading(shader, net),
        *[line for lines in body for line in lines],
        f"for (int i = 0; i < {net.outputs}; i++) y[i] = {y}[i];",
    ]
    head = f"void {NAME}_row(in float x[{net.inputs}], out float y[{net.outputs}]) {{"
    return "\n".join([head, *[f"    {line}" for line in lines], "}"])


def heading(net: Network, language: Language, note: str) -> str:
    """Return the comment at the head of the file."""
    shape = " -> ".join(str(size) for size in (net.inputs, *[each.outputs for each in net.layers]))
    lines = [
        f"A neural network, {shape}: {len(net.bank):,} parameters, {note}.",
        f"Written by scalarviz; for {language.version}.",
        "Put this text above your own shader and call",
        f"    void {NAME}_row(in float x[{net.inputs}], out float y[{net.outputs}])",
    ]
    if max(net.inputs, net.outputs) <= WIDEST_VECTOR:
        lines.append(f"or  {language.short(net.outputs)} {NAME}({language.short(net.inputs)} x)")
    return "\n".join(f"// {line}" for line in lines)


def vector_function(net: Network, language: Language) -> str:
    """Return a function on vectors, for networks of at most four inputs and outputs."""
    result, given = language.short(net.outputs), language.short(net.inputs)
    reads = [f"x.{part}" for part in PARTS[: net.inputs]] if net.inputs > 1 else ["x"]
    values = ", ".join(f"b[{i}]" for i in range(net.outputs))
    return "\n".join(
        [
            f"{result} {NAME}({given} x) {{",
            f"    float a[{net.inputs}];",
            f"    float b[{net.outputs}];",
            *[f"    a[{i}] = {read};" for i, read in enumerate(reads)],
            f"    {NAME}_row(a, b);",
            f"    return {values if net.outputs == 1 else f'{result}({values})'};",
            "}",
        ]
    )
