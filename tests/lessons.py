"""Runs the lessons and keeps what comes out, so that they can be read without running them.

    python -m tests.lessons             all of them
    python -m tests.lessons 04          those whose names begin so

Only what a reader sees is kept: the same lesson gives the same file.
"""

import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "notebooks"
WIDGET = "application/vnd.jupyter.widget-view+json"
SECONDS = 300  # that one cell may take
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def lessons() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def is_check(cell: Any) -> bool:
    """Whether a cell checks what the text says, and is hidden."""
    return "check" in cell.metadata.get("tags", [])


def run(book: Any, folder: Path = FOLDER) -> None:
    """Run every cell, in a folder; an error of one is raised."""
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(
        book,
        timeout=SECONDS,
        kernel_name="python3",
        resources=where,
        store_widget_state=False,
        record_timing=False,
    ).execute()


def tidy(book: Any, name: str) -> None:
    """Leave out what differs from run to run and from machine to machine."""
    book.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}},
    )
    for i, cell in enumerate(book.cells):
        cell.id = f"{name}-{i:02d}"
        kept = {key: cell.metadata[key] for key in ("tags", "jupyter") if key in cell.metadata}
        cell.metadata = nbformat.from_dict(kept)
        if "outputs" in cell:
            for output in cell.outputs:
                output.get("data", {}).pop(WIDGET, None)  # it would only say: there is no kernel
            cell.outputs = [output for output in cell.outputs if not is_empty(output)]


def is_empty(output: Any) -> bool:
    """Whether nothing is seen of an output, such as a bar that a slow machine has shown a while."""
    data = output.get("data", {})
    return output.output_type == "display_data" and not any(data.values())


def main(names: list[str]) -> None:
    for path in lessons():
        if names and not path.name.startswith(tuple(names)):
            continue
        book, began = read(path), time.perf_counter()
        run(book)
        tidy(book, path.stem[:2])
        nbformat.write(book, path)
        seconds, size = time.perf_counter() - began, path.stat().st_size / 1024
        print(f"{path.stem:20} {seconds:6.1f} s {size:6.0f} KB")


if __name__ == "__main__":
    main(sys.argv[1:])
