// A picture, and beside it what a network has learned of it, in more detail at rest.

import { made, setWords } from "./dom.js";
import { sameNumbers } from "./planemap.js";
import { text } from "./texts.js";
import { unpacked } from "./packed.js";

const PORTION = 4096; // points that are evaluated at once: a command waits for few
const STILL = 250; // milliseconds without a change until the fine picture begins

/** The target and the output as pictures; a click shows what one point is made of. */
export class Pictures {
  constructor(element, data, use) {
    Object.assign(this, { data, use });
    this.points = unpacked(data.points);
    this.target = unpacked(data.target);
    this.wait = 0;
    this.begun = 0; // counts fine pictures: a former one ends where another begins
    this.canvases = ["target", "output"].map(() => made("canvas"));
    this.names = ["target", "output"].map((name) => made("figcaption", "", text(`exhibits.${name}`)));
    const figures = this.canvases.map((canvas, i) => made("figure", "", [this.names[i], canvas]));
    const [wide, high] = data.fine;
    for (const canvas of this.canvases) {
      canvas.setAttribute("role", "img");
      canvas.style.aspectRatio = `${wide} / ${high}`;
      canvas.addEventListener("pointerdown", (event) => {
        const box = canvas.getBoundingClientRect();
        use.own([(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]);
      });
    }
    this.canvases[0].ariaLabel = text("exhibits.target");
    element.append(made("div", "pictures", figures));
    put(this.canvases[0], this.target, data.fine, 255);
  }

  show(state) {
    if (sameNumbers(state.probe, this.probe)) return;
    this.probe = state.probe;
    this.begun += 1;
    clearTimeout(this.wait);
    put(this.canvases[1], state.probe, this.data.size, 1);
    setWords(this.names[1], text("exhibits.output"));
    if (!state.playing) this.wait = setTimeout(() => this.refine(), STILL);
  }

  /** Evaluate the whole picture in portions, until something changes. */
  async refine() {
    const begun = this.begun;
    const count = this.target.length / 3;
    const found = new Float32Array(3 * count);
    for (let first = 0; first < count; first += PORTION) {
      const inputs = Float64Array.from(this.points.subarray(2 * first, 2 * (first + PORTION)));
      const outputs = await this.use.evaluate(inputs);
      if (!outputs || begun !== this.begun) return;
      found.set(outputs, 3 * first);
    }
    put(this.canvases[1], found, this.data.fine, 1);
    const noise = text("exhibits.pictures.noise", { psnr: noiseOf(found, this.target) });
    setWords(this.names[1], text("exhibits.pictures.output", { noise }));
    this.canvases[1].ariaLabel = text("exhibits.pictures.said", { noise, count });
  }

  verdict() {
    return "";
  }
}

/** Return the PSNR of colors from 0 to 1 against bytes, in dB. */
export function noiseOf(found, target) {
  let sum = 0;
  for (let i = 0; i < found.length; i++) sum += (found[i] - target[i] / 255) ** 2;
  return -10 * Math.log10(sum / found.length);
}

/** Put colors, of which `top` is the largest, onto a canvas. */
function put(canvas, colors, [wide, high], top) {
  Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  const image = context.createImageData(wide, high);
  for (let i = 0; i < wide * high; i++) {
    for (let k = 0; k < 3; k++) image.data[4 * i + k] = (255 * colors[3 * i + k]) / top;
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
