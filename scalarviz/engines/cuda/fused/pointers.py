"""array_at: makes an array of a pointer, in functions that are called from C++."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scalarviz.engines.cuda.api import cuda


def array_at(pointer: Any, length: Any) -> Any:
    """Return the array of so many numbers that begins at a pointer; in kernels only."""
    raise NotImplementedError


def make_intrinsic() -> Any:
    """Return `array_at` for numba-cuda's compiler."""
    types: Any = import_module("numba.cuda.types")
    arrays: Any = import_module("numba.cuda.np.arrayobj")

    def array_at(typing: Any, pointer: Any, length: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made = arrays.make_array(signature.return_type)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(pointer.dtype))
            step = context.get_constant(types.intp, size)
            arrays.populate_array(
                made, data=arguments[0], shape=[arguments[1]], strides=[step], itemsize=step,
                meminfo=None,
            )  # fmt: skip
            return made._getvalue()

        return types.Array(pointer.dtype, 1, "C")(pointer, types.intp), generate

    return import_module("numba.cuda.extending").intrinsic(array_at)


if cuda is not None and not cuda.config.ENABLE_CUDASIM:
    array_at = make_intrinsic()
