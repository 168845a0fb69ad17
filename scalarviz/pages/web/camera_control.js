// The camera of the picture, with smooth moves between views; as stage/camera_control.py.

import { Camera, Projection } from "./camera.js";
import { boxesBelow } from "./neurons.js";

const EYES = {
  seconds: 0.7, // duration of a move
  quick: 0.2, // of one that makes room for a card
  farthest: 2, // visible height, in those of the whole network, at which zooming out ends
  edge: 0.01, // share of the free stage that stays empty on each side
  degrees: 0.35, // of rotation per pixel of dragging
  clear: 8, // pixels around the legend that stay free
  legend: 240, // width of the legend where letters have their usual size
};

/** A camera that keeps the whole network in the picture until the user moves it. */
export class Eyes {
  constructor(layout, presets, name = "perspective") {
    Object.assign(this, { layout, presets, name, cuts: false });
    this.camera = this.preset(name);
    this.goal = this.camera;
    this.from = null;
    this.framed = true;
    Object.assign(this, { size: [0, 0], inner: null, legend: null, started: null });
    this.seconds = EYES.seconds;
  }

  preset(name) {
    return new Camera(this.layout.views[name] ?? this.presets[name]);
  }

  /** Set the size of the picture, the box that the network fills, and the legend to keep clear of. */
  frame(size, inner, legend = null) {
    const before = size[1] === this.size[1] ? this.inner : null; // a card may take of the width
    const moved = before && ["x", "y", "width", "height"].some((key) => before[key] !== inner[key]);
    const fresh = moved || !before || legend?.height !== this.legend?.height;
    Object.assign(this, { size, inner, legend });
    if (this.framed && !this.cuts && moved) this.refit(before);
    if (this.framed && !this.from && fresh) this.camera = this.whole(this.camera);
  }

  /** Begin a quick move to fit the network to another box of a picture. */
  refit(before) {
    const box = this.inner;
    const camera = this.camera.with({ height: (this.camera.height * box.height) / before.height });
    const right = (before.x + before.width / 2 - box.x - box.width / 2) / box.height;
    const down = (before.y + before.height / 2 - box.y - box.height / 2) / box.height;
    this.camera = camera.moved(-right, down); // what is seen stays where it is
    const goal = this.from ? this.goal : this.camera;
    this.go(this.whole(goal), true, EYES.quick);
  }

  /** Show another layout of the same network, from its own side until the user moves it. */
  follow(layout) {
    this.layout = layout;
    if (this.framed) {
      this.from = null;
      this.camera = this.preset(this.name);
      if (this.inner) this.camera = this.whole(this.camera);
    }
  }

  /** Move to a preset, with the whole network in the picture. */
  look(name) {
    this.name = name;
    this.go(this.whole(this.preset(name).with({ target: this.camera.target })), true);
  }

  /** Be where a user has turned to before. */
  turnTo(camera) {
    Object.assign(this, { camera, goal: camera, from: null, framed: false });
  }

  go(goal, framed, seconds = EYES.seconds) {
    Object.assign(this, { framed, seconds });
    if (this.cuts) {
      this.camera = goal;
      this.from = null;
    } else {
      Object.assign(this, { from: this.camera, goal, started: null });
    }
  }

  /** Advance a move to the time `now` in seconds; say whether there was one. */
  tick(now) {
    if (!this.from) return false;
    this.started ??= now;
    const part = (now - this.started) / this.seconds;
    if (part >= 1) {
      this.camera = this.goal;
      this.from = null;
      if (this.framed) this.camera = this.whole(this.camera);
    } else {
      this.camera = this.from.blended(this.goal, Math.max(part, 0));
    }
    return true;
  }

  /** Rotate by dragging, in pixels. */
  orbit(right, down) {
    this.stay();
    if (this.name === "flat" && (right || down)) this.name = "orthographic";
    this.camera = this.camera.orbited(-EYES.degrees * right, EYES.degrees * down);
  }

  /** Move sideways by dragging, in pixels. */
  pan(right, down) {
    this.stay();
    this.camera = this.camera.moved(-right / this.inner.height, down / this.inner.height);
  }

  /** Zoom in on a pixel. */
  zoom(factor, x, y) {
    this.stay();
    const box = this.inner;
    const right = (x - box.x - box.width / 2) / box.height;
    const up = (box.y + box.height / 2 - y) / box.height;
    const most = EYES.farthest * this.whole(this.camera).height;
    const least = Math.min(1, this.camera.height / most);
    this.camera = this.camera.zoomed(Math.max(factor, least), right, up);
  }

  stay() {
    this.framed = false;
    this.from = null;
  }

  /** The camera with the whole network in the picture, in the same direction. */
  whole(camera) {
    const points = this.layout.extent;
    const { inner: box, legend } = this;
    if (!points.length) return camera;
    let found = camera.framing(points, box.width / box.height, EYES.edge);
    if (!legend || !this.covers(found, points, legend)) return found;
    // The network goes to the right, and above the legend as far as it must.
    for (let tenth = 0; tenth <= 15; tenth++) {
      const above = box.height - (tenth / 10) * legend.height;
      found = this.upperRight(camera, box.width, above);
      const { x } = new Projection(found, box, ...this.size).see(points);
      const wide = (Math.max(...x) - Math.min(...x)) / (1 - 2 * EYES.edge);
      found = this.upperRight(camera, Math.min(box.width, wide), above);
      if (!this.covers(found, points, legend)) break;
    }
    return found;
  }

  /** The camera with the whole network in the upper right part of its box. */
  upperRight(camera, width, height) {
    const box = this.inner;
    const points = this.layout.extent;
    const found = camera.framing(points, width / height, EYES.edge);
    const right = (box.width - width) / box.height;
    const up = (box.height - height) / box.height;
    const there = found
      .with({ height: (found.height * box.height) / height })
      .moved(-0.5 * right, -0.5 * up);
    // What is near moves further than what is far.
    const { x } = new Projection(there, box, ...this.size).see(points);
    return there.moved(Math.max(0, (Math.max(...x) - box.right) / box.height), 0);
  }

  /** Whether the network, or a name below a sphere, would be in the legend's box. */
  covers(camera, points, legend) {
    const see = new Projection(camera, this.inner, ...this.size);
    const [right, top] = [legend.right + EYES.clear, legend.y - EYES.clear];
    const { x, y } = see.see(points);
    if (x.some((each, i) => each < right && y[i] > top)) return true;
    const scale = legend.width / EYES.legend;
    const names = this.layout.neurons.flatMap((line) => boxesBelow(see, line, scale));
    return names.some((box) => box.x < right && box.bottom > top);
  }
}
