"""Draws README's picture of a notebook: the lesson on layers in JupyterLab, with a cube pinned.

python -m docs.build_pictures notebook
"""

import tempfile
from pathlib import Path

from tests.faces.notebook.lab import LivePage, Page, chromium, lack, prepared, serving
from tests.lessons import small_file

ROW = 29  # of a bias, which is in front
STEPS = 900


def draw(path: Path) -> None:
    """Draw it, or say what is missing for it."""
    if why := lack():
        print(f"{path.name} is unchanged: {why}")
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as server,
        chromium() as browser,
    ):
        index, *_ = prepared(server.notebooks / "lesson.ipynb")
        page = Page.open(browser, server, "lesson.ipynb")
        page.run_all()
        page.answer_all()
        live = LivePage(page, index).show()
        live.ask(f"session.advance({STEPS})")
        live.wait(lambda: live.step == STEPS)
        live.show().do(f"pin({{row: {ROW}}})")
        live.rest(8.0)  # until the legend no longer says that its scale has grown
        path.write_bytes(small_file(live.screenshot()))
