// A picture, and beside it what a network has learned of it.

import { made, putImage, setShown, setWords } from "./dom.js";
import { followArrows, followDrops, followPen, madeButton } from "./events.js";
import { readAnswers } from "./formulas.js";
import { short } from "./story/decimals.js";
import { Result, offBy } from "./result.js";
import { sameNumbers } from "./plane_exhibit.js";
import { shortened, text } from "./texts.js";
import { unpacked } from "./arrays.js";

const PORTION = 4096; // points that are evaluated at once: a command waits for few
const STILL = 250; // milliseconds without a change until the fine picture begins
const KEY_MOVE = 0.02; // part of the picture that an arrow key moves

/** A result plot with the target and the output as pictures; a click selects a point. */
export class Pictures {
  constructor(element, data, use) {
    Object.assign(this, { data, use });
    [this.across, this.down] = [unpacked(data.across), unpacked(data.down)];
    this.target = unpacked(data.target);
    this.goals = sharesOf(unpacked(data.goals)); // of the coarse picture
    this.wait = 0;
    this.begun = 0; // counts fine pictures: a former one ends where another begins
    this.colors = [..."RGB"].map(() => made("b"));
    const look = { doors: 3, among: [this.makeTold()] };
    this.result = new Result(element, () => made("canvas"), data.things, look);
    const { faces, figures, names } = this.result;
    this.canvases = faces;
    this.name = names[1];
    this.spots = figures.map((figure) => figure.appendChild(made("i", "spot")));
    const [wide, high] = data.fine;
    this.canvases.forEach((canvas, i) => {
      canvas.setAttribute("role", i ? "img" : "application");
      if (!i) canvas.tabIndex = 0;
      canvas.style.aspectRatio = `${wide} / ${high}`;
      canvas.style.setProperty("--shape", wide / high);
      followPen(canvas, (place) => this.ask(place));
    });
    this.result.first.style.aspectRatio = `${wide} / ${high}`;
    followArrows(faces[0], ([right, down]) => {
      const [x, y] = this.state?.own ? this.state.inputs : [0.5, 0.5];
      this.ask([x + KEY_MOVE * right, y + KEY_MOVE * down]);
    });
    this.describe(text("exhibits.output"));
    this.own = null; // a picture of the user's own, as `target`
    this.makeChooser(element);
    this.putTarget();
    new ResizeObserver(() => this.state && this.mark(this.state)).observe(faces[0]);
  }

  /** Create the text about the selected point, with the numbers of its color. */
  makeTold() {
    const parts = this.colors.map((number, i) => {
      const name = made("b", "channel", "RGB"[i]);
      name.style.color = `var(--channel-${i})`;
      return made("span", "", name, number);
    });
    this.ring = made("span", "");
    return made("p", "place-words", this.ring, made("span", "", ...parts));
  }

  // A point of the user's own.

  ask(place) {
    const inside = place.map((x) => Math.min(1, Math.max(0, x)));
    this.use.own(inside, "point");
  }

  /** Mark the selected point on both pictures. */
  mark(state) {
    const isKnown = state.inputs?.length === 2;
    const outputs = state.values[this.data.output];
    const answer = outputs && readAnswers(outputs, this.data.reads);
    const [u, v] = isKnown ? Array.from(state.inputs, (x) => short(x)) : ["", ""];
    setWords(this.ring, text("exhibits.pictures.ring", { u, v }));
    this.colors.forEach((number, i) => setWords(number, answer ? short(answer[i]) : ""));
    this.spots.forEach((spot, i) => {
      setShown(spot, isKnown);
      if (!isKnown) return;
      const { offsetLeft, offsetTop, clientWidth, clientHeight } = this.canvases[i];
      spot.style.left = `${offsetLeft + state.inputs[0] * clientWidth}px`;
      spot.style.top = `${offsetTop + state.inputs[1] * clientHeight}px`;
      spot.title = text(state.own ? "own.chip.point" : "exhibits.in_use");
    });
  }

  describe(words) {
    this.canvases[0].ariaLabel = text("own.picture.point", { name: words });
  }

  // A picture of the user's own.

  /** Create the button for a custom picture, and accept dropped files. */
  makeChooser(element) {
    this.field = made("input");
    Object.assign(this.field, { type: "file", accept: "image/png,image/jpeg", hidden: true });
    this.field.addEventListener("change", () => {
      if (this.field.files[0]) this.read(this.field.files[0]);
      this.field.value = "";
    });
    const choose = () => (this.own ? this.setOwn(null) : this.field.click());
    this.chooser = madeButton("own-picture", text("own.picture.choose"), choose);
    element.append(this.chooser, this.field);
    followDrops(element, (file) => this.read(file));
  }

  /** Use a picture file as target; if it is invalid, show a message. */
  async read(file) {
    try {
      this.setOwn(await colorsOfFile(file, this.data.fine));
      this.use.tell(text("own.picture.shown"));
    } catch (error) {
      this.use.tell(error.message);
    }
  }

  /** Compare the output with a custom picture; null compares with the target. */
  setOwn(colors) {
    this.own = colors;
    setWords(this.chooser, text(colors ? "own.picture.back" : "own.picture.choose"));
    setWords(this.name, text(colors ? "own.chip.picture" : "exhibits.swatches.target"));
    this.putTarget();
    this.begun += 1;
    clearTimeout(this.wait);
    if (this.probe && !this.playing) this.wait = setTimeout(() => this.refine(), STILL);
  }

  putTarget() {
    put(this.canvases[1], this.own ?? this.target, this.data.fine, 255);
    this.canvases[1].ariaLabel = this.name.textContent;
  }

  // Pictures of what is learned.

  show(state) {
    this.state = state;
    this.mark(state);
    const { probe, value, playing } = state;
    const isSame = sameNumbers(probe, this.probe) && sameNumbers(value, this.value);
    if (isSame && playing === this.playing) return;
    Object.assign(this, { probe, value, playing });
    this.begun += 1;
    clearTimeout(this.wait);
    const { data, result } = this;
    put(result.faces[0], readAnswers(probe, data.reads, 3), data.size, 1);
    const first = result.firstOf(state)?.subarray(0, probe.length);
    if (first) put(result.first, readAnswers(first, data.reads, 3), data.size, 1);
    result.say(this.verdict(state), first ? this.verdict({ probe: first }) : null);
    if (!playing) this.wait = setTimeout(() => this.refine(), STILL);
  }

  /** Evaluate the picture at full resolution, unless something changes. */
  async refine() {
    const begun = this.begun;
    const isStale = () => begun !== this.begun;
    const found = await this.answers(isStale);
    if (!found) return;
    put(this.canvases[0], found, this.data.fine, 1);
    const wanted = sharesOf(this.own ?? this.target);
    const noise = text("exhibits.pictures.noise", { psnr: noiseOf(found, wanted) });
    setWords(this.result.yet, offBy(found, wanted).words);
    this.describe(text("exhibits.pictures.said", { noise, count: found.length / 3 }));
  }

  /** Return the outputs at all points, computed in portions; null if something has changed. */
  async answers(isStale) {
    const count = this.target.length / 3;
    const found = new Float32Array(3 * count);
    for (let first = 0; first < count; first += PORTION) {
      const inputs = this.points(first, Math.min(first + PORTION, count));
      const outputs = await this.use.evaluate(inputs);
      if (!outputs || isStale()) return null;
      found.set(readAnswers(outputs, this.data.reads, 3), 3 * first);
    }
    return found;
  }

  /** Return the coordinates of the points with indices from `first` to `end`, line by line. */
  points(first, end) {
    const found = new Float64Array(2 * (end - first));
    const wide = this.across.length;
    for (let i = first; i < end; i++) {
      found.set([this.across[i % wide], this.down[Math.floor(i / wide)]], 2 * (i - first));
    }
    return found;
  }

  /** Return the error of the pixels compared with the target or the custom picture. */
  verdict({ probe }) {
    if (this.own) return { words: "" }; // until all its pixels are evaluated
    return offBy(readAnswers(probe, this.data.reads, 3), this.goals);
  }
}

/** Return the peak signal-to-noise ratio of colors from 0 to 1 in dB. */
function noiseOf(found, wanted) {
  let sum = 0;
  for (let i = 0; i < found.length; i++) sum += (found[i] - wanted[i]) ** 2;
  return -10 * Math.log10(sum / found.length);
}

/** Return bytes as colors from 0 to 1. */
function sharesOf(bytes) {
  return Float64Array.from(bytes, (each) => each / 255);
}

/** Draw colors onto a canvas; `top` is the maximum. */
function put(canvas, colors, [wide, high], top) {
  const bytes = Uint8ClampedArray.from(colors, (each) => (255 * each) / top);
  putImage(canvas, wide, high, (i) => bytes.subarray(3 * i, 3 * i + 3));
}

// A custom picture: a file that is chosen or dropped, looked at before it is decoded.

const MOST_BYTES = 32e6;
const MOST_PIXELS = 4096; // along a side
const HEAD_BYTES = 1 << 20; // bytes in which the size stands
const MOST_LETTERS = 40; // of a name
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const JPEG_SIZES = [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];

/**
 * Return the colors of a picture file, resized, as three bytes for each pixel.
 *
 * A picture with another aspect ratio is cropped. Throws an Error with a message for the user if
 * the file is not PNG or JPEG, too large, or damaged.
 */
async function colorsOfFile(file, [wide, high]) {
  const name = shortened(file.name, MOST_LETTERS);
  const refuse = (key, more = {}) => {
    throw new Error(text(`own.picture.${key}`, { name, ...more }));
  };
  if (file.size > MOST_BYTES) refuse("bytes", { size: file.size / 1e6, most: MOST_BYTES / 1e6 });
  const start = file.slice(0, HEAD_BYTES);
  const head = new Uint8Array(await start.arrayBuffer().catch(() => refuse("broken")));
  const size = sizeOf(head);
  if (!size) return refuse("kind");
  const [width, height] = size;
  if (Math.max(...size) > MOST_PIXELS) refuse("pixels", { width, height, most: MOST_PIXELS });
  if (Math.min(...size) < 1) refuse("broken");
  const image = await createImageBitmap(file).catch(() => refuse("broken"));
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context.fillRect(0, 0, wide, high); // black shows through
  context.imageSmoothingQuality = "high";
  const part = Math.min(image.width / wide, image.height / high);
  const [across, down] = [part * wide, part * high];
  const [left, top] = [(image.width - across) / 2, (image.height - down) / 2];
  context.drawImage(image, left, top, across, down, 0, 0, wide, high);
  image.close();
  const pixels = context.getImageData(0, 0, wide, high).data;
  return pixels.filter((_, i) => i % 4 < 3);
}

/** Return [width, height] from the header of a PNG or JPEG file; null for other files. */
function sizeOf(head) {
  const at = (i) => 256 * head[i] + head[i + 1];
  if (PNG.every((each, i) => head[i] === each)) {
    return head.length < 24 ? [0, 0] : [65536 * at(16) + at(18), 65536 * at(20) + at(22)];
  }
  if (head[0] !== 0xff || head[1] !== 0xd8) return null;
  let place = 2;
  while (place + 9 < head.length && head[place] === 0xff) {
    if (JPEG_SIZES.includes(head[place + 1])) return [at(place + 7), at(place + 5)];
    place += head[place + 1] === 0xff ? 1 : 2 + Math.max(2, at(place + 2));
  }
  return [0, 0];
}
