// The controls of a playground: boxes of layers, tiles of data sets and inputs, learning settings.
// Each shows the settings and reports the requested changes.

import { featuresOf, pointsOf } from "./data_sets.js";
import { byId, isNews, made, putImage, setWords, styled } from "./dom.js";
import { fillOptions, followArrows, madeButton } from "./events.js";
import { generalNumber, numberTyped } from "./numbers.js";
import { bytesOf } from "./plane_exhibit.js";
import { MOST_LAYERS, MOST_NEURONS, sizes_of, task_of } from "./story/build_link.js";
import { plural, text } from "./texts.js";

const WIDE = 3; // layers up to which a box names its neurons
const TILE = 44; // pixels of a tile
const DOT = 1.3; // radius of its points
const RIM = "#080b10";
const TRAYS = 0.6; // of the way from a layer to the next: the middle of its trays
const REACH = 5.5; // of the plane, from the middle
const BENDS = { sides: "tanh", classes: "softmax", numbers: "linear", colours: "sigmoid" }; // of outputs
export const OWN = "own"; // the name of the visitor's points

/** The box of a hidden layer: its number of neurons, and their activation. */
class LayerBox {
  constructor(place, { resize, bend, show }) {
    this.number = made("b");
    this.number.role = "spinbutton";
    this.number.tabIndex = 0;
    this.number.ariaValueMin = "0";
    this.number.ariaValueMax = String(MOST_NEURONS);
    followArrows(this.number, ([, down]) => resize(place, -down));
    this.kind = made("select");
    this.kind.addEventListener("change", () => bend(place, this.kind.value));
    this.less = madeButton("", "−", () => resize(place, -1));
    this.more = madeButton("", "+", () => resize(place, 1));
    const title = text("build.layer", { number: place + 1 });
    const middle = made("div", "middle", this.number, this.kind);
    this.element = made("div", "layer", made("span", "", title), this.less, middle, this.more);
    Object.assign(this.element, { role: "group", ariaLabel: title });
    this.element.addEventListener("pointerdown", () => show(place));
    this.kind.ariaLabel = text("build.activation", { number: place + 1 });
    this.number.ariaLabel = title;
    this.more.ariaLabel = text("build.more", { number: place + 1 });
  }

  show(count, activation, kinds, isTight) {
    const words = plural("build.neurons", count);
    setWords(this.number, isTight ? String(count) : words);
    Object.assign(this.number, { ariaValueNow: String(count), ariaValueText: words });
    fillOptions(this.kind, activation, kinds.map((name) => [name, name.replace("_", " ")])); // prettier-ignore
    this.more.disabled = count === MOST_NEURONS;
    this.less.ariaLabel = this.less.title = text(count > 1 ? "build.less" : "build.last", {
      number: this.element.ariaLabel.match(/\d+/)[0],
    });
  }
}

/** The boxes of all hidden layers, with a button for one more, and the output. */
export class LayerLine {
  constructor(element, kinds, use) {
    this.element = element;
    element.classList.add("flows"); // until there is a picture
    this.kinds = kinds;
    this.use = use;
    this.boxes = []; // of all layers that there have been
    this.shown = [];
    this.plus = madeButton("another", text("build.add_layer"), () => {
      use.add();
      use.show(this.shown.length - 1);
    });
    this.outputs = [made("b"), made("i")]; // their number and activation
    this.output = made("div", "layer", made("div", "middle", ...this.outputs));
    this.output.classList.add("output");
  }

  show(settings) {
    const { hidden, activation } = settings;
    setWords(this.outputs[0], plural("build.outputs", sizes_of(settings).at(-1)));
    setWords(this.outputs[1], BENDS[task_of(settings)]);
    const isTight = hidden.length > WIDE;
    while (this.boxes.length < hidden.length)
      this.boxes.push(new LayerBox(this.boxes.length, this.use));
    this.shown = this.boxes.slice(0, hidden.length);
    this.shown.forEach((box, i) => box.show(hidden[i], activation[i], this.kinds, isTight));
    this.element.classList.toggle("tight", isTight);
    this.plus.disabled = hidden.length === MOST_LAYERS;
    if (!isNews(this.element, hidden.length)) return;
    const focused = /** @type {any} */ (document.activeElement);
    this.element.replaceChildren(...this.shown.map((box) => box.element), this.plus, this.output);
    focused?.focus();
  }

  /** Put each box over the middle of its layer in the picture, if all have room. */
  place(picture) {
    const lines = new Set(picture.placed.neurons.map(({ values, sums }) => values || sums));
    const start = leftOf(picture.canvas) - leftOf(this.element);
    const xs = [...lines].map((name) => start + (picture.placeOf({ neuron: [name, 0] })?.x ?? 0));
    if (xs.length !== this.shown.length + 2) return; // it is the one before
    const middles = xs.slice(1).map((x, i) => xs[i] + TRAYS * (x - xs[i]));
    const end = this.element.clientWidth;
    const parts = [...this.shown.map((box) => box.element), this.output, this.plus];
    const wides = parts.map((each) => each.offsetWidth);
    if (!isNews(this, [middles.map(Math.round), end, wides])) return;
    const gap = 8;
    // From the left to the right, none over the one before it; then back from the right edge.
    const count = parts.length - 1;
    const lefts = middles.slice(0, count).map((middle, i) => middle - wides[i] / 2);
    const least = [byId("chosen-inputs").offsetWidth + 20];
    lefts.forEach((left, i) => {
      lefts[i] = Math.max(left, least[i]);
      least.push(lefts[i] + wides[i] + gap + (i === count - 2 ? wides[count] + gap : 0));
    });
    let edge = this.edge(end);
    for (let i = count - 1; i >= 0; i--) {
      lefts[i] = Math.min(lefts[i], edge - wides[i]);
      edge = lefts[i] - gap - (i === count - 1 ? wides[count] + gap : 0);
    }
    const isLine = lefts[0] < least[0]; // there is no room: one after the other
    this.element.classList.toggle("flows", isLine);
    parts.slice(0, count).forEach((part, i) => (part.style.left = `${Math.round(lefts[i])}px`));
    this.plus.style.left = `${Math.round(lefts[count - 1] - gap - wides[count])}px`;
  }

  /** Where the tiles of data begin, or the line ends. */
  edge(end) {
    return Math.min(end, leftOf(byId("tiles")) - leftOf(this.element)) - 12;
  }
}

function leftOf(element) {
  return element.getBoundingClientRect().left;
}

/** Tiles of the data sets, each with its real points. */
export class DataTiles {
  constructor(element, names, choose) {
    this.names = names;
    this.tiles = names.map((name) => {
      const tile = madeButton("", made("canvas"), () => choose(name));
      tile.role = "radio";
      tile.ariaLabel = tile.title = text(`build.data.${name}`);
      if (name === OWN) tile.append(made("b", "", "+"));
      return tile;
    });
    element.append(...this.tiles);
    followArrows(element, ([right, down]) => {
      const place = this.names.indexOf(this.chosen) + right + down;
      const name = names.at(place % names.length);
      choose(name);
      this.tiles[names.indexOf(name)].focus();
    });
  }

  show(settings) {
    const { shape, noise, seed, points, table, isDrawing = false } = settings;
    const isColours = task_of(settings) === "colours";
    this.chosen = isDrawing || points || table || isColours ? OWN : shape;
    this.tiles.forEach((tile, i) => {
      const isChosen = this.names[i] === this.chosen;
      tile.ariaChecked = String(isChosen);
      tile.tabIndex = isChosen ? 0 : -1;
      const isOwn = this.names[i] === OWN;
      if (isOwn) tile.classList.toggle("mine", !points); // a plus until there are any
      if (isOwn) setWords(tile.lastElementChild, table ? "CSV" : isColours ? "RGB" : "+");
      const set = isOwn ? { points } : { shape: this.names[i], noise, seed, share: 0.5 };
      if (set.shape || points) this.draw(tile.firstElementChild, set);
    });
  }

  draw(canvas, settings) {
    const sides = styled("--sides").split(" ");
    if (!isNews(canvas, [settings, sides])) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.height = TILE * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    Object.assign(context, { lineWidth: 0.4, strokeStyle: RIM });
    const { points, targets } = pointsOf(settings);
    points.forEach(([x, y], i) => {
      context.fillStyle = sides[Number(targets[i] > 0)];
      context.beginPath();
      context.arc((TILE * (1 + x / REACH)) / 2, (TILE * (1 - y / REACH)) / 2, DOT, 0, 7);
      context.fill();
      context.stroke(); // which is seen on light ground
    });
  }
}

/** Tiles of the inputs on offer, each with its square over the plane. */
export class InputShelf {
  /** `labels` are the names of inputs in the picture. */
  constructor(element, names, labels, toggle) {
    this.names = names;
    this.labels = labels;
    this.tiles = names.map((name) => madeButton("", made("canvas"), () => toggle(name)));
    this.tiles.forEach((tile, i) => tile.append(labels[names[i]]));
    element.append(...this.tiles);
  }

  show({ features }) {
    const ends = ["negative", "zero", "positive"].map((name) => bytesOf(styled(`--${name}`)));
    this.tiles.forEach((tile, i) => {
      const isOn = features.includes(this.names[i]);
      tile.ariaPressed = String(isOn);
      tile.disabled = isOn && features.length === 1; // one is needed
      if (isNews(tile, ends)) squareOf(tile.firstElementChild, this.names[i], ends);
    });
    const names = features.map((name) => this.labels[name]).join(", ");
    const all = features.length === this.names.length ? text("build.all_inputs") : names;
    setWords(byId("chosen-inputs").querySelector("b"), all);
  }
}

/** Draw an input over the plane, in the colors of a negative, a zero and a positive number. */
function squareOf(canvas, name, /** @type {number[][]} */ [negative, zero, positive]) {
  const along = (i) => (2 * (i + 0.5)) / TILE - 1;
  const points = Array.from({ length: TILE * TILE }, (_, i) => [
    REACH * along(i % TILE),
    -REACH * along(Math.floor(i / TILE)),
  ]);
  const numbers = featuresOf(points, [name]).flat();
  const most = Math.max(...numbers.map(Math.abs));
  putImage(canvas, TILE, TILE, (i) => {
    const part = numbers[i] / most;
    const end = part < 0 ? negative : positive;
    return zero.map((each, k) => each + Math.sqrt(Math.abs(part)) * (end[k] - each));
  });
}

/** The settings of learning: of a training as it is, and those that begin another one. */
export class LearningFields {
  /**
   * rows  [name, values, wordsOf]: a choice of values; without values a number is typed
   * use   gets the name and the value that is wanted
   */
  constructor(element, rows, use) {
    this.fields = new Map(
      rows.map(([name, values, words = wordsOf]) => {
        const field = made(values ? "select" : "input");
        if (!values) Object.assign(field, { type: "text", autocomplete: "off" });
        field.addEventListener("change", () => use(name, values ? field.value : numberTyped(field.value))); // prettier-ignore
        const label = made("label", "", made("span", "", text(`build.learning.${name}`)), field);
        label.dataset.setting = name;
        element.append(label);
        return [name, { field, values, words }];
      }),
    );
  }

  show(settings) {
    for (const [name, { field, values, words }] of this.fields) {
      const value = settings[name];
      const options = values?.includes(value) ? values : [...(values ?? []), value];
      if (values)
        fillOptions(field, value, options.map((each) => [each, words(each)])); // prettier-ignore
      else if (document.activeElement !== field) field.value = generalNumber(value, 4);
    }
  }
}

/** Return the words of a value of a setting. */
function wordsOf(value) {
  if (typeof value === "string") return value.replace("_", " ");
  return value ? String(value) : text("build.none");
}
