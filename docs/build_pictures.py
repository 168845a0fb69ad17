"""Draws the pictures of the README and the guide, and writes the page linked from the README.

    python -W error -m docs.build_pictures            all pictures
    python -W error -m docs.build_pictures step rgb   only the files with these names

Run it after every change to the appearance of pictures. `notebook.png` is a screenshot of
JupyterLab in a browser; it is left unchanged if JupyterLab or the browser is missing.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

import scalarviz as sv
from docs.guide.microgpt import Gpt
from scalarviz import data
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import played
from scalarviz.pages.page import page_of
from scalarviz.pages.plain_pages import build_link
from scalarviz.pages.playground import playground_page
from scalarviz.scene.layout.sequence_places import Choice
from scalarviz.stage.explained_sample import sample_to_explain
from scalarviz.stage.render_options import RenderOptions, drawn
from scalarviz.stage.show import Show
from scalarviz.training.session.threads import FILM
from scalarviz.training.session.timeline import holding
from tests.faces.notebook import readme_picture

FOLDER = Path(__file__).parent
PINNED = 17  # the weight from input B to neuron 5
NETWORK = "v=1&shape=invert&seed=0&hidden=8&lr=0.5&batch=8"  # of the scene rgb, in the playground


def scene(name: str, steps: int) -> Show:
    """Return a scene after training it for `steps` steps."""
    show = played(load(find(name)), {})
    show.session.advance(steps, progress=False)
    return show


def rgb(path: Path) -> None:
    sv.picture(scene("rgb", 901), path, pin=PINNED)


def step(path: Path) -> None:
    show = scene("rgb", 89)
    show.session.focus = sample_to_explain(show.session) or 0  # as a window does
    show.session.advance(show.session.operations.index("weight gradient 0") + 1, "operation")
    sv.picture(show, path)


def weights(path: Path) -> None:
    sv.picture(scene("rgb", 900), path, size=(1280, 720), past="value")


def film(path: Path) -> None:
    """Write an animated WebP of ten seconds that shows a scene while it is trained."""
    show, frames = replace(scene(path.stem, 0), about=""), []  # a card would cover neurons
    with holding(show.session.timeline):
        for step in FILM:
            show.session.advance(step - show.session.step_index, progress=False)
            frames.append(Image.fromarray(sv.picture(show, size=(800, 500), ratio=0.8)))
    frames[0].save(
        path,
        save_all=True,
        append_images=frames[1:],
        duration=[340] * (len(FILM) - 1) + [1160],
        loop=0,
        quality=80,
        method=6,
    )


def trained(path: Path) -> None:
    """Draw a scene after enough training steps for its result to be visible."""
    steps = {"rgb": 400, "circle": 900, "texture": 4000, "normalized": 900, "retrain": 60}
    steps |= {"names": 16_000, "adder": 20_000}
    drawn = sv.picture(scene(path.stem, steps.get(path.stem, 300)))
    Image.fromarray(drawn).save(path, quality=80, method=6)


def names(path: Path) -> None:
    """Draw the GPT with its first head open, at a letter whose next letter it predicts."""
    show = scene("names", 16_000)
    table: Any = show.session.data
    for step in range(16_000, 0, -1):
        show.session.seek(step)
        (sample,), _ = table.batches(1, 0).at(step - 1)
        best = show.session.network(sample).reshape(len(table.letters), -1).argmax(axis=0)
        name = table.name_of(sample)
        right = [i for i in range(2, len(name)) if table.letters[best[i]] == name[i]]
        if right:
            break
    options = RenderOptions()
    with options.canvas() as canvas, options.on(show) as stages:
        stages.lead.choice = Choice(right[-1], head=0)
        Image.fromarray(drawn(canvas, stages, options)).save(path)


def side_by_side(path: Path) -> None:
    sessions = []
    for hidden in ((), (8,), (8, 8)):
        net = sv.Network([3, *hidden, 3], "tanh", output="sigmoid", seed=0)
        pairs = data.Rgb("invert")
        session = sv.Session(net, pairs, optimizer=sv.SGD(0.5), batch=8, engine="cpu", seed=0)
        session.advance(300, progress=False)
        sessions.append(session)
    sv.picture(sessions, path, theme="light")


def gpt(path: Path) -> None:
    model = Gpt(sv.Value)
    loss = sv.compile(lambda _: model.loss("nel"), 1, parameters=vars(model), engine="python")
    session = sv.Session(loss, ([[0.0]], [[0.0]]), "mae", engine="python")
    session.advance(len(session.network.program.moments) - 14, "operation")
    sv.picture(Show(session, "A GPT in scalars learns the name nel"), path)


def followed(path: Path) -> None:
    """Draw a transformer trained with PyTorch, which `make test-all` installs."""
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = torch.nn.Sequential(
        OrderedDict(
            embedding=torch.nn.Embedding(27, 32),
            encoder=torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
            head=torch.nn.Linear(32, 27),
        )
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    with TemporaryDirectory() as folder, sv.follow(model, f"{folder}/a.sv", show=None) as run:
        for _ in range(300):
            letters = torch.randint(27, (16, 12))
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(letters).transpose(1, 2), letters)
            loss.backward()
            run.loss(loss)
            optimizer.step()
        session = run.followed.session
        session.seek(300)
        sv.picture(session, path)


def page(path: Path) -> None:
    path.write_bytes(page_of(scene("rgb", 0), links=build_link(NETWORK)).text)


def playground(path: Path) -> None:
    path.write_bytes(playground_page(load(find("circle"))).text)


PICTURES = {
    "rgb.png": rgb,
    "step.png": step,
    "texture.webp": film,
    "rgb.webp": film,
    "weights.png": weights,
    "digits.png": trained,
    "texture.png": trained,
    "names.png": names,
    "gpt.png": gpt,
    "side-by-side.png": side_by_side,
    "follow.png": followed,
    "notebook.png": readme_picture.draw,
    "pages/rgb.html": page,
    "pages/playground.html": playground,
    **{f"gallery/{name}.webp": trained for name in scenes()},
}


def main(names: list[str]) -> None:
    """Draw the pictures with these file names, with or without suffix; all if `names` is empty."""
    for name, draw in PICTURES.items():
        if not names or name in names or name.partition(".")[0] in names:
            draw(FOLDER / name)
            print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
