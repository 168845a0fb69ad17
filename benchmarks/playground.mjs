// Times training steps of the playground and of TensorFlow Playground: node playground.mjs NN < JSON
// prints seconds per step. NN is nn.ts of TensorFlow Playground, compiled to a module.
import fs from "node:fs";
import { pathToFileURL } from "node:url";
import { featuresOf, pointsOf } from "../scalarviz/pages/web/data_sets.js";
import { specOf } from "../scalarviz/pages/web/dense_page.js";
import { Engine } from "../scalarviz/pages/web/engine.js";
import { setTexts } from "../scalarviz/pages/web/texts.js";

const LEAST = 0.5; // seconds of a side in a round
const CALL = 1000; // steps per call
const CHECKED = 100; // steps after which the weights of both are equal

const nn = await import(pathToFileURL(process.argv[2]).href);
const given = JSON.parse(fs.readFileSync(0, "utf8"));
setTexts(given.texts);
const module = await WebAssembly.compile(Buffer.from(given.module, "base64"));

/** Returns a network of nn.ts with the weights of a page. */
function networkOf({ features, hidden }, operations, value) {
  const { TANH } = nn.Activations;
  const sizes = [features.length, ...hidden, 1];
  const network = nn.buildNetwork(sizes, TANH, TANH, null, features);
  const layers = operations.filter(({ kind }) => kind === "affine");
  layers.forEach(({ weights, biases }, i) => {
    network[i + 1].forEach((node, k) => {
      node.bias = value[biases + k];
      const first = weights + k * node.inputLinks.length;
      node.inputLinks.forEach((link, j) => (link.weight = value[first + j]));
    });
  });
  return network;
}

/** Trains a network of nn.ts with a batch, as oneStep of TensorFlow Playground. */
function step(network, samples, rate) {
  for (const { inputs, target } of samples) {
    nn.forwardProp(network, inputs);
    nn.backProp(network, target, nn.Errors.SQUARE);
  }
  nn.updateWeights(network, rate, 0);
}

/** Throws an error if the same batches lead both networks to other weights. */
function compare(engine, operations, settings) {
  const network = networkOf(settings, operations, engine.value);
  for (let i = 0; i < CHECKED; i++) {
    engine.draw(engine.step);
    const drawn = Array.from({ length: settings.batch }, (_, k) => engine.sample(k));
    const samples = drawn.map(({ inputs, targets }) => ({
      inputs: [...inputs],
      target: targets[0],
    }));
    step(network, samples, settings.lr);
    engine.train(1);
  }
  const wanted = networkOf(settings, operations, engine.value);
  network.flat().forEach((node, i) => {
    const same = wanted.flat()[i];
    const weights = (each) => [each.bias, ...each.inputLinks.map(({ weight }) => weight)];
    const apart = weights(node).map((weight, k) => Math.abs(weight - weights(same)[k]));
    if (i >= settings.features.length && !(Math.max(...apart) < 1e-4))
      throw new Error(`neuron ${node.id} differs`);
  });
}

/** Returns the seconds per step of a function that trains for CALL steps. */
function timed(train) {
  const began = performance.now();
  let [calls, took] = [0, 0];
  for (; took < LEAST * 1000; calls++) {
    train();
    took = performance.now() - began;
  }
  return took / 1000 / calls / CALL;
}

const found = [];
for (const settings of given.cases) {
  const { spec, image } = specOf(given.base, given.tables, settings);
  const { operations } = spec.facts;
  const engine = await Engine.open(module, image, spec.engine);
  const network = networkOf(settings, operations, engine.value);
  compare(engine, operations, settings);
  const { points, targets } = pointsOf(settings);
  const samples = featuresOf(points, settings.features).map((inputs, i) => ({
    inputs,
    target: targets[i],
  }));
  const batches = Array.from({ length: samples.length / settings.batch }, (_, i) =>
    samples.slice(i * settings.batch, (i + 1) * settings.batch),
  );
  const sides = {
    page: () => engine.train(CALL),
    theirs: () => {
      for (let i = 0; i < CALL; i++) step(network, batches[i % batches.length], settings.lr);
    },
  };
  const seconds = { page: [], theirs: [] };
  for (const train of Object.values(sides)) timed(train); // until they are optimized
  for (let i = 0; i < given.rounds; i++) {
    for (const [side, train] of Object.entries(sides)) seconds[side].push(timed(train));
  }
  found.push(seconds);
}
console.log(JSON.stringify(found));
