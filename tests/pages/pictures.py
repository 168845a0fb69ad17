"""Pictures of a page in a browser: the modules of scalarviz/pages/web without the page."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz.pages
from scalarviz.base.texts import texts
from scalarviz.scene.canvas import fonts

WEB = Path(scalarviz.pages.__file__).parent / "web"
FONTS = Path(fonts.__file__).parent / "dejavu"
HTML = """<!doctype html><meta charset="utf-8">
<style>
@font-face {font-family: Shown; src: url(DejaVuSans.ttf)}
@font-face {font-family: Shown; src: url(DejaVuSans-Bold.ttf); font-weight: bold}
body {margin: 0; font-family: Shown} canvas {display: block}
</style>
<canvas id="picture"></canvas>
<script type="module">
import { Picture } from "./picture.js";
import { unpackedAll } from "./arrays.js";
import { setTexts } from "./texts.js";
Object.assign(window, { Picture, setTexts, unpackedAll });
await Promise.all(["13px Shown", "bold 13px Shown"].map((font) => document.fonts.load(font)));
window.ready = true;
</script>"""
BEGIN = """({scene, texts}) => {
  setTexts(texts);
  window.given = scene;
  window.picture = new Picture(document.getElementById("picture"), scene);
  Object.assign(picture, {slow: true, calm: true});  // as on a machine without a GPU
  return picture.fault;
}"""
DRAW = """({size, ratio, theme, state, options}) => {
  picture.theme = theme;
  picture.resize(...size, ratio);
  picture.canvas.style.width = size[0] + "px";
  const known = unpackedAll(state);
  window.drawn = [known, options];
  if (!("now" in options)) options.now = 1000;
  picture.draw(known, options);
  return {words: picture.words, image: picture.canvas.toDataURL("image/png")};
}"""


class PicturePage:
    """A page with one picture.

    errors  what the console has said
    """

    def __init__(self, page: Any, scene: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", lambda said: self.errors.append(said.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.route("**/*", self._answer)
        page.goto("http://page.test/index.html")
        page.wait_for_function("window.ready || false")
        self.fault = page.evaluate(
            BEGIN, {"scene": json.loads(json.dumps(scene)), "texts": dict(texts())}
        )

    def _answer(self, route: Any) -> None:
        name = route.request.url.rpartition("/")[2]
        if name == "index.html":
            route.fulfill(body=HTML, content_type="text/html")
        elif name.endswith(".ttf"):
            route.fulfill(body=(FONTS / name).read_bytes(), content_type="font/ttf")
        elif (WEB / name).is_file() and name.endswith(".js"):
            route.fulfill(body=(WEB / name).read_text("utf-8"), content_type="text/javascript")
        else:
            route.fulfill(status=204)

    def draw(
        self,
        state: Any,
        size: tuple[int, int],
        /,
        *,
        theme: str = "dark",
        ratio: float = 1.0,
        **options: Any,
    ) -> tuple[np.ndarray, list[str]]:
        """Draw a state; return its pixels, (height, width, 3), and all text."""
        given = {"size": size, "ratio": ratio, "theme": theme, "state": state, "options": options}
        found = self.page.evaluate(DRAW, given)
        return self.image(found["image"]), found["words"]

    def image(self, url: str) -> np.ndarray:
        """The pixels of a picture that a page has given."""
        from PIL import Image

        data = b64decode(url.partition(",")[2])
        return np.asarray(Image.open(BytesIO(data)).convert("RGB"))

    def ask(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)


@contextmanager
def picture_page(browser: Any, scene: Any) -> Iterator[PicturePage]:
    """A page of a browser with one picture of a scene."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    try:
        yield PicturePage(page, scene)
    finally:
        page.close()
