// Times the steps of an engine of a page: node page.mjs FOLDER STEPS prints JSON, in seconds.
import fs from "node:fs";
import { Engine } from "../scalarviz/pages/web/engine.js";

const [folder, words] = process.argv.slice(2);
const steps = Number(words);
const spec = JSON.parse(fs.readFileSync(`${folder}/spec.json`, "utf8"));
const [module, image] = ["module", "image"].map((name) => fs.readFileSync(`${folder}/${name}`));
const seconds = () => performance.now() / 1000;

const start = seconds();
const engine = await Engine.open(module, image, spec);
const open = seconds() - start;
const began = seconds();
engine.train(Math.min(100, steps));
const first = seconds() - began;
const least = 2; // seconds until the optimizing compiler has done its part
while (seconds() - began < least) engine.train(steps);
const times = [];
const from = seconds();
while (seconds() - from < 1 || times.length < 8) {
  const before = seconds();
  engine.train(steps);
  times.push(seconds() - before);
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ open, first, step: times[times.length >> 1] / steps }));
