// Draws pictures of a page without a browser, and tells what lies flat on them; see test_same_drawing.py.
import fs from "node:fs";

const KNOWN = { [Symbol.toPrimitive]: () => 1, length: 0, isContextLost: () => false };

/** An object that has every method and number of WebGL, and does nothing. */
const nothing = () =>
  new Proxy(function () {}, {
    get: (_, name) => KNOWN[name] ?? nothing(),
    apply: () => nothing(),
  });
const canvas = { getContext: nothing, addEventListener: () => {}, width: 1, height: 1 };
Object.assign(globalThis, {
  document: { createElement: () => canvas, visibilityState: "hidden" },
  getComputedStyle: () => ({ fontFamily: "sans-serif" }),
  requestAnimationFrame: () => 0,
  DOMMatrix: { fromFloat64Array: () => ({ inverse: () => ({ toFloat64Array: () => [] }) }) },
});

const web = "../../scalarviz/pages/web";
const { Picture } = await import(`${web}/picture.js`);
const { Box } = await import(`${web}/story/camera.js`);
const { Paper } = await import(`${web}/paper.js`);
const { withLayouts } = await import(`${web}/layout_maker.js`);
const { setTexts } = await import(`${web}/texts.js`);
const { unpackedAll } = await import(`${web}/arrays.js`);

const { texts, scene, facts, states, size, box, scale, letter } = JSON.parse(
  fs.readFileSync(0, "utf8"),
);
setTexts(texts);
const written = [];
Paper.prototype.text = function (x, y, words, look = {}) {
  const { size: letters = 13, anchor = "left", bold = false } = look;
  const rounded = (number) => Math.round(100 * number) / 100;
  written.push([...[x, y].map(rounded), words, rounded(letters), anchor, bold]);
};
const found = states.map(({ state, options, theme, camera }) => {
  const picture = new Picture(canvas, withLayouts(structuredClone(scene), facts));
  Object.assign(picture.glyphs, {
    width: (words, pixels) => letter * pixels * words.length,
    laidOut: () => [],
    tidy: () => {},
  });
  let drawn = null;
  picture.ink = { draw: (paper) => (drawn = paper) };
  picture.calm = true;
  picture.theme = theme;
  picture.resize(...size, 1);
  picture.slow = true; // one sample along a pixel
  picture.refine = () => {}; // and no finer picture later
  const at = new Box(box.x, box.y, box.width, box.height);
  const draw = () => picture.draw(unpackedAll(state), { ...options, box: at, scale, now: 0 });
  draw();
  picture.eyes.look(camera);
  written.length = 0;
  draw();
  return {
    rows: Array.from(drawn.rows.subarray(0, 24 * drawn.count)),
    texts: written.map((each) => [...each]),
  };
});
process.stdout.write(JSON.stringify(found));
