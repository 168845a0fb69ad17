"""Draws README's picture of a notebook: the lesson on layers in JupyterLab, with a cube pinned.

python -m tests.faces.notebook.readme_picture
"""

import tempfile
from pathlib import Path

from tests.faces.notebook.lab import LivePicture, Page, browsing, lack, prepared, serving
from tests.lessons import small_file

PICTURE = Path(__file__).parents[3] / "docs" / "notebook.png"
CUBE = """from scalarviz.faces.notebook.live import _open
controller = next(each.controller for each in _open if each.controller.session is session)
controller.stage.pin(net.layers[1].perceptrons[0].weights[5])
print("pinned")"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as server,
        browsing() as browser,
    ):
        index, *_ = prepared(server.notebooks / "lesson.ipynb")
        page = Page.open(browser, server, "lesson.ipynb")
        page.run_all()
        live = LivePicture(page, index).show()
        live.ask(CUBE)
        live.show().still()
        PICTURE.write_bytes(small_file(live.cell.locator(".scalarviz").screenshot()))


if __name__ == "__main__":
    if why := lack():
        print(f"docs/notebook.png stays as it is: {why}")
    else:
        main()
