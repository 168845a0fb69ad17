"""Run the lessons and store their output, so that they can be read without running them.

    python -m tests.lessons             all of them, as `make pictures` does
    python -m tests.lessons 04          those whose names begin with 04

Only visible output is stored: the same lesson always gives the same file.
"""

import base64
import doctest
import re
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import PIL.Image
from nbclient import NotebookClient

from scalarviz.faces.notebook.exercises import MIME
from tests.machine import ROOT

FOLDER = ROOT / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
PNG = "image/png"
SQUARE, ALIKE, MOST = 8, 16.0, 0.003  # pixels, levels of 255, a fraction of the squares
HIGH = 400  # pixels; lower pictures are matplotlib plots
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
SECONDS = 300  # timeout of a cell
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def lessons() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def is_check(cell: Any) -> bool:
    """Return whether a cell checks statements of the text, and is hidden."""
    return "check" in cell.metadata.get("tags", [])


# Reset before another lesson in the same kernel: no playing pictures, no names, no cells.
ANEW = """
import ipywidgets
ipywidgets.Widget.close_all()
get_ipython().run_line_magic("reset", "-f")
"""


def client_of(book: Any, folder: Path) -> NotebookClient:
    return NotebookClient(
        book,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
    )


def run(book: Any, folder: Path = FOLDER) -> None:
    """Run every cell in a folder; raise the error of one."""
    client_of(book, folder).execute()


class WarmKernel:
    """A kernel reused by the next lesson, with its imported modules and loaded data."""

    def __init__(self) -> None:
        self.client = client_of(nbformat.v4.new_notebook(), FOLDER)

    def run(self, book: Any) -> None:
        """Run every cell without the names of earlier lessons; raise the error of one."""
        for each in (nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ANEW)]), book):
            self.client.nb = each
            self.client.execute(cleanup_kc=False)

    def close(self) -> None:
        self.client._cleanup_kernel()


def tidy(book: Any, name: str) -> None:
    """Remove everything that differs between runs and machines."""
    book.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}},
    )
    for i, cell in enumerate(book.cells):
        cell.id = f"{name}-{i:02d}"
        kept = {key: cell.metadata[key] for key in ("tags", "jupyter") if key in cell.metadata}
        cell.metadata = nbformat.from_dict(kept)
        if "outputs" in cell:
            for output in cell.outputs:
                data = output.get("data", {})
                data.pop(WIDGET, None)  # it would only report a missing kernel
                data.pop(MIME, None)  # it would contain the answers of a learner
                if "text/html" in data:  # without its requirements
                    data["text/html"] = STYLE.sub("", data["text/html"])
                if PNG in data:
                    data[PNG] = small(data[PNG])
            cell.outputs = joined([output for output in cell.outputs if not is_empty(output)])


def joined(outputs: list[Any]) -> list[Any]:
    """Return outputs with printed text joined, however the kernel has sent it."""
    found: list[Any] = []
    for output in outputs:
        printed = output.get("name") if output.output_type == "stream" else None
        if printed and found and found[-1].get("name") == printed:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def small(png: str) -> str:
    return base64.b64encode(small_file(base64.b64decode(png))).decode()


def small_file(png: bytes) -> bytes:
    """Return a picture with 256 colors, in a third of the bytes."""
    with PIL.Image.open(BytesIO(png)) as picture:
        # With two rounds of k-means, large areas of one color are exact.
        few = picture.convert("RGB").quantize(256, kmeans=2, dither=PIL.Image.Dither.NONE)
    file = BytesIO()
    few.save(file, "png", optimize=True)
    return file.getvalue()


def pictures(book: Any) -> list[tuple[str, Any]]:
    """Return every picture of a network in a book, as numbers, with its position."""
    found = [
        (f"cell {i}", pixels(output.data[PNG]))
        for i, cell in enumerate(book.cells)
        for output in cell.get("outputs", [])
        if PNG in output.get("data", {})
    ]
    return [(place, picture) for place, picture in found if len(picture) >= HIGH]


def pixels(png: str) -> Any:
    with PIL.Image.open(BytesIO(base64.b64decode(png))) as picture:
        return np.asarray(picture.convert("RGB"), float)


def difference(one: Any, other: Any) -> float:
    """Return the fraction of two pictures that differs, in squares of SQUARE pixels.

    Another driver, font or antialiasing changes a square only a little.
    """
    if one.shape != other.shape:
        return 1.0
    apart = np.abs(squares(one) - squares(other)).max(axis=2)
    return float((apart > ALIKE).mean())


def squares(picture: Any) -> Any:
    high, wide = (side // SQUARE for side in picture.shape[:2])
    whole = picture[: high * SQUARE, : wide * SQUARE]
    return whole.reshape(high, SQUARE, wide, SQUARE, 3).mean(axis=(1, 3))


def former(stored: Any, drawn: Any) -> list[str]:
    """Return the stored pictures of a book that differ from those drawn by a run."""
    old, new = pictures(stored), pictures(drawn)
    if [place for place, _ in old] != [place for place, _ in new]:
        return [f"stored are {[place for place, _ in old]}, drawn {[place for place, _ in new]}"]
    parts = [(place, difference(was, now)) for (place, was), (_, now) in zip(old, new, strict=True)]
    return [f"{place}: {part:.1%}" for place, part in parts if part > MOST]


def is_empty(output: Any) -> bool:
    """Return whether an output is invisible, such as a progress bar shown by a slow machine."""
    data = output.get("data", {})
    return output.output_type == "display_data" and not any(data.values())


def main(names: list[str]) -> None:
    for path in lessons():
        if names and not path.name.startswith(tuple(names)):
            continue
        book, began = read(path), time.perf_counter()
        run(book)
        tidy(book, path.stem.partition("-")[0])
        nbformat.write(book, path)
        seconds, size = time.perf_counter() - began, path.stat().st_size / 1024
        print(f"{path.stem:20} {seconds:6.1f} s {size:6.0f} KB")


if __name__ == "__main__":
    main(sys.argv[1:])


BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(text: str) -> list[tuple[int, str]]:
    """Return the Python blocks of a text, each with the number of lines before it."""
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


def with_prompts(code: str) -> str:
    """Return a block, whose outputs are comments below its lines, in the format of `doctest`."""
    starts = {" ": "... ", "#": "", "": ""}
    lines = (starts.get(line[:1], ">>> ") + line.removeprefix("# ") for line in code.split("\n"))
    return re.sub(
        r"(?m)^(?=scalarviz\.err)", "Traceback (most recent call last):\n", "\n".join(lines)
    )


def run_examples(path: Path) -> int:
    """Run all Python blocks of a file in one namespace; return their number."""
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = examples(path.read_text(encoding="utf-8"))
    for line, block in blocks:
        code = with_prompts(block) if path.name == "README.md" else block
        if ">>> " not in code:
            exec(compile("\n" * line + code, path, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), line)
        said: list[str] = []
        doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
        assert not said, "".join(said)
        names = test.globs
    return len(blocks)
