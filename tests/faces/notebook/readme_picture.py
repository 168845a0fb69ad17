"""Draws README's picture of a notebook: the lesson on layers in JupyterLab, with a cube pinned.

python -m tests.faces.notebook.readme_picture
"""

import tempfile
from pathlib import Path

from tests.faces.notebook.lab import ROOT, LivePage, Page, chromium, lack, prepared, serving
from tests.lessons import small_file

PICTURE = ROOT / "docs" / "notebook.png"
ROW = 29  # of a bias, which is in front


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as server,
        chromium() as browser,
    ):
        index, *_ = prepared(server.notebooks / "lesson.ipynb")
        page = Page.open(browser, server, "lesson.ipynb")
        page.run_all()
        live = LivePage(page, index).show()
        live.do(f"pin({{row: {ROW}}})")
        live.rest(1.0)
        PICTURE.write_bytes(small_file(live.element.screenshot()))


if __name__ == "__main__":
    if why := lack():
        print(f"docs/notebook.png stays as it is: {why}")
    else:
        main()
