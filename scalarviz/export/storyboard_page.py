"""A storyboard as one page of HTML: a picture, its caption, and a slider through the operations.

Everything is in the page, pictures included, and it asks nobody for anything. It is the same text
for the same stills. Without scripts, and on paper, all stills stand one below the other.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from scalarviz.draw2d.colors import MAPS
from scalarviz.errors import InputError
from scalarviz.presenter.captions.operations import Caption

PNG = b"\x89PNG\r\n\x1a\n"

# The page has no hue: in the pictures hue says the sign of a number, and nothing else.
COLORS = {
    "dark": f"""--back: {MAPS["dark"].background}; --raised: #1b2027; --line: #3a424d;
  --edge: #8b95a1; --quiet: #aeb7c2; --text: #eceff3; --strong: #ffffff; --on-strong: #0e1116;""",
    "light": f"""--back: {MAPS["light"].background}; --raised: #f1f3f5; --line: #cdd3da;
  --edge: #6b7480; --quiet: #4d5661; --text: #1a1e24; --strong: #000000; --on-strong: #ffffff;""",
}

STYLE = """
*, *::before, *::after { box-sizing: border-box; }
html { color-scheme: THEME; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 1.25rem clamp(1rem, 3vw, 2.5rem) 2rem; max-width: 1400px;
  background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
header { display: flex; flex-wrap: wrap; gap: 0 2rem; justify-content: space-between;
  align-items: baseline; margin: 0 0 1rem; color: var(--quiet); }
h1 { margin: 0; font-size: 1.0625rem; font-weight: 500; }
h2 { margin: 0; font-size: clamp(1.25rem, 1rem + 1vw, 1.5rem); line-height: 1.25;
  font-weight: 600; letter-spacing: -0.012em; text-wrap: balance; }
figure { margin: 0; }
img { display: block; max-width: 100%; height: auto; border-radius: 6px; }
code { font: 0.9375rem/1.55 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas,
  "DejaVu Sans Mono", monospace; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.which { margin: 0 0 0.25rem; font-size: 0.875rem; color: var(--quiet); }
.formula { margin: 0.375rem 0 0; }
.formula code { font-size: 1.0625rem; color: var(--strong); }
.numbers { margin: 0.5rem 0 0; padding: 0; list-style: none; }
.numbers code { display: block; padding-left: 1.5rem; text-indent: -1.5rem; }

.frames figure { margin: 0 0 3rem; }
figcaption { margin-top: 1rem; }
.stage, .scripted .frames { display: none; }
.scripted .stage { display: block; }

.pictures { position: relative; z-index: 0; width: fit-content; margin: 0 auto; }
.pictures img { width: auto; max-height: max(16rem, calc(100vh - 26rem)); }
.pictures .before { position: absolute; inset: 0; width: 100%; height: 100%; z-index: -1; }
.stage figcaption { min-height: 11.5rem; }

.controls { display: grid; grid-template-columns: auto 1fr; gap: 0.5rem 1rem; align-items: center;
  margin-top: 1rem; }
.buttons { display: flex; gap: 0.5rem; }
button { font: inherit; color: inherit; background: var(--raised); cursor: pointer;
  border: 1px solid var(--edge); border-radius: 6px; }
button:hover { border-color: var(--strong); }
.buttons button { display: grid; place-items: center; width: 2.75rem; height: 2.75rem; }
.buttons svg { width: 1.125rem; height: 1.125rem; fill: currentColor; }
.buttons button[aria-disabled=true] { opacity: 0.4; cursor: default; }
.playing .go, .stopped .stop { display: none; }
:focus-visible { outline: 3px solid var(--strong); outline-offset: 2px; }
input[type=range] { width: 100%; height: 2.75rem; margin: 0; accent-color: var(--strong);
  cursor: pointer; border-radius: 6px; }
nav { grid-column: 1 / -1; overflow-x: auto; margin: 0 -0.25rem; scrollbar-width: thin;
  scrollbar-color: var(--line) transparent; }
nav ol { display: flex; gap: 0.25rem; margin: 0; padding: 0.3125rem; list-style: none; }
nav button { padding: 0.375rem 0.75rem; white-space: nowrap; font-size: 0.875rem;
  color: var(--quiet); background: none; border-color: transparent; }
nav button:hover { color: var(--text); border-color: var(--line); }
nav button[aria-current] { color: var(--on-strong); background: var(--strong); font-weight: 600; }
.keys { display: none; margin: 0; font-size: 0.8125rem; }
.scripted .keys { display: block; }
kbd { font: inherit; padding: 0 0.3125rem; border: 1px solid var(--line); border-radius: 4px; }

@media (min-width: 60rem) {
  .stage figcaption { display: grid; grid-template-columns: minmax(20rem, 2fr) 3fr;
    gap: 0 3rem; min-height: 8.5rem; }
  .stage figcaption .numbers { margin-top: 1.75rem; }
  .pictures img { max-height: max(16rem, calc(100vh - 22.5rem)); }
}
@media (max-width: 40rem) {
  .scripted .keys { display: none; }
  .controls { grid-template-columns: 1fr; }
  .buttons { justify-content: center; order: 2; }
}
@media print {
  @page { margin: 1.4cm; }
  :root { PAPER }
  body { padding: 0; max-width: none; font-size: 10pt; }
  header { display: none; }
  h2 { font-size: 13pt; }
  code { font-size: 8.5pt; }
  .formula code { font-size: 10pt; }
  .scripted .stage { display: none; }
  .scripted .frames { display: block; }
  .frames figure { height: 12.2cm; margin: 0; overflow: hidden; break-inside: avoid; }
  .frames figure:nth-of-type(2n+3) { break-before: page; }
  .frames figcaption { margin-top: 0.2cm; }
  .frames img { width: auto; max-height: 8.2cm; print-color-adjust: exact; }
}
"""

SCRIPT = """
document.documentElement.classList.add('scripted');
addEventListener('DOMContentLoaded', () => {
  const all = selector => [...document.querySelectorAll(selector)], one = s => all(s)[0];
  const frames = all('.frames figure'), steps = all('nav button');
  const picture = one('.now'), before = one('.before'), caption = one('.stage figcaption');
  const slider = one('input'), strip = one('nav');
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  const [back, play, forward] = all('.buttons button');
  const last = frames.length - 1;
  let here = -1, timer = null;

  function show(place) {
    place = Math.min(Math.max(place, 0), last);
    if (place === here) return;
    const still = frames[place].querySelector('img');
    before.src = picture.src;
    picture.src = still.src;
    picture.alt = still.alt;
    for (const side of ['width', 'height']) {
      if (still.hasAttribute(side)) picture.setAttribute(side, still.getAttribute(side));
    }
    if (here >= 0 && !calm.matches) {
      picture.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 180, easing: 'ease-out' });
    }
    caption.replaceChildren(...frames[place].querySelector('figcaption').cloneNode(true).children);
    if (here >= 0) steps[here].removeAttribute('aria-current');
    here = place;
    const step = steps[here];
    const room = strip.getBoundingClientRect(), box = step.getBoundingClientRect();
    step.setAttribute('aria-current', 'step');
    strip.scrollLeft += box.left + box.width / 2 - room.left - room.width / 2;
    slider.value = here;
    slider.setAttribute('aria-valuetext', step.textContent);
    back.setAttribute('aria-disabled', here === 0);
    forward.setAttribute('aria-disabled', here === last);
  }

  function tell() {
    play.className = timer === null ? 'stopped' : 'playing';
    play.setAttribute('aria-label', timer === null ? 'play' : 'pause');
    caption.setAttribute('aria-live', timer === null ? 'polite' : 'off');
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    tell();
  }

  function toggle() {
    if (timer !== null) return stop();
    show(here === last ? 0 : here + 1);
    timer = setInterval(() => here < last ? show(here + 1) : stop(), 1200);
    tell();
  }

  function go(place) {
    stop();
    show(place);
  }

  back.onclick = () => go(here - 1);
  forward.onclick = () => go(here + 1);
  play.onclick = toggle;
  slider.oninput = () => go(Number(slider.value));
  steps.forEach((step, place) => { step.onclick = () => go(place); });
  addEventListener('click', event => {  // after a click of the mouse, space plays
    if (event.detail > 0 && document.activeElement.matches('button')) document.activeElement.blur();
  });
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const keys = {
      ArrowLeft: () => go(here - 1), ArrowRight: () => go(here + 1),
      Home: () => go(0), End: () => go(last), ' ': toggle,
    };
    const onButton = event.target.closest && event.target.closest('button');
    if (!(event.key in keys) || (event.key === ' ' && onButton)) return;
    event.preventDefault();
    keys[event.key]();
  });
  tell();
  show(0);
});
"""

ICONS = {
    "back": "M5 5h3v14H5zM20 5v14L9.5 12z",
    "go": "M6 3v18l16-9z",
    "stop": "M6 4h4v16H6zM14 4h4v16h-4z",
    "forward": "M16 5h3v14h-3zM4 5v14l10.5-7z",
}


@dataclass(frozen=True)
class Still:
    """One operation: what it is called and what is said; its picture, PNG or SVG, also in words."""

    name: str
    caption: Caption
    picture: bytes
    alt: str


def page(stills: Sequence[Still], title: str, dark: bool = True) -> str:
    """A storyboard as one HTML document, to step through in any browser, or to print."""
    if not stills:
        raise InputError("a page shows at least one still, and here is none: pass some")
    theme = "dark" if dark else "light"
    style = f"\n:root {{ {COLORS[theme]} }}{STYLE}"
    style = style.replace("THEME", theme).replace("PAPER", COLORS["light"])
    frames = "\n".join(frame(still, i, len(stills)) for i, still in enumerate(stills))
    steps = "\n".join(
        f'<li><button type="button">{escape(still.name)}</button></li>' for still in stills
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
<script>{SCRIPT}</script>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="keys"><kbd>←</kbd> <kbd>→</kbd> one operation, <kbd>space</kbd> play,
<kbd>Home</kbd> <kbd>End</kbd> first and last</p>
</header>
<main>
<section class="stage" aria-label="one operation after the other">
<figure>
<div class="pictures"><img class="before" alt=""><img class="now" alt=""></div>
<div class="controls">
<div class="buttons">
<button type="button" aria-label="back">{icon("back")}</button>
<button type="button" aria-label="play">{icon("go")}{icon("stop")}</button>
<button type="button" aria-label="forward">{icon("forward")}</button>
</div>
<input type="range" min="0" max="{len(stills) - 1}" value="0" aria-label="operation">
<nav aria-label="operations">
<ol>
{steps}
</ol>
</nav>
</div>
<figcaption aria-live="polite"></figcaption>
</figure>
</section>
<section class="frames" aria-label="all operations">
<noscript><p class="which">All operations, one below the other.</p></noscript>
{frames}
</section>
</main>
</body>
</html>
"""


def frame(still: Still, place: int, count: int) -> str:
    """One still as it stands on paper: the picture, and its caption below."""
    caption = still.caption
    formula = f'<p class="formula"><code>{escape(caption.formula)}</code></p>'
    numbers = "".join(f"<li><code>{escape(line)}</code></li>" for line in caption.numbers)
    return f"""<figure>
<img src="{as_link(still.picture)}"{sides(still.picture)} alt="{escape(still.alt)}">
<figcaption>
<div>
<p class="which">{place + 1} of {count}: {escape(still.name)}</p>
<h2>{escape(caption.title)}</h2>
{formula if caption.formula else ""}
</div>
<ul class="numbers">{numbers}</ul>
</figcaption>
</figure>"""


def as_link(picture: bytes) -> str:
    """A picture that is part of the page."""
    kind = "image/png" if picture.startswith(PNG) else "image/svg+xml"
    return f"data:{kind};base64,{base64.b64encode(picture).decode()}"


def sides(picture: bytes) -> str:
    """Width and height as attributes, so that nothing jumps while a picture is decoded."""
    if picture.startswith(PNG) and len(picture) >= 24:
        width, height = struct.unpack(">II", picture[16:24])
        return f' width="{width}" height="{height}"'
    return ""


def icon(name: str) -> str:
    path = f'<path d="{ICONS[name]}"/>'
    return f'<svg class="{name}" viewBox="0 0 24 24" aria-hidden="true">{path}</svg>'


def policy(style: str) -> str:
    """What the page may do: use its own style and script, and the pictures in it; nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src {fingerprint(style)}; "
        f"script-src {fingerprint(SCRIPT)}; base-uri 'none'; form-action 'none'"
    )


def fingerprint(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
