// Times training steps in a browser, for tensorflow_js.py: globalThis.ours and globalThis.theirs.

const WARM = 1500; // milliseconds until optimizing compilers have done their part
const LEAST = 1000; // milliseconds that are measured
const PORTION = 4; // milliseconds of a call: long for the clock, shorter than what others get in turn

/** Return the median milliseconds of a step; `run(n)` takes n steps, the last one to its end. */
async function timed(run) {
  const from = performance.now();
  let steps = 1;
  while (performance.now() - from < WARM) {
    const before = performance.now();
    await run(steps);
    if (performance.now() - before < PORTION) steps *= 2;
  }
  const times = [];
  const start = performance.now();
  while (performance.now() - start < LEAST || times.length < 8) {
    const before = performance.now();
    await run(steps);
    times.push((performance.now() - before) / steps);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

/** The engine of a page. */
globalThis.ours = async () => {
  const { Engine } = await import("./engine.js");
  const [module, image] = await Promise.all(
    ["module", "image"].map(
      async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer()),
    ),
  );
  const engine = await Engine.open(module, image, await (await fetch("spec.json")).json());
  return timed((count) => engine.train(count));
};

const ACTIVATIONS = {
  tanh: (tf, x) => tf.tanh(x),
  sigmoid: (tf, x) => tf.sigmoid(x),
  leaky_relu: (tf, x) => tf.leakyRelu(x, 0.01),
};

/** A loss of variables, minimized by an optimizer. */
function byVariables(tf, { sizes, activations, bias }, optimizer, x, y) {
  const layers = activations.map((name, i) => ({
    kernel: tf.variable(tf.randomUniform([sizes[i], sizes[i + 1]], -0.5, 0.5)),
    bias: bias && tf.variable(tf.zeros([sizes[i + 1]])),
    activate: ACTIVATIONS[name],
  }));
  const loss = () => {
    let now = x;
    for (const { kernel, bias: b, activate } of layers) {
      const sum = tf.matMul(now, kernel);
      now = activate(tf, b ? tf.add(sum, b) : sum);
    }
    return tf.mean(tf.squaredDifference(now, y));
  };
  return () => optimizer.minimize(loss, true);
}

/** A model of layers; trainOnBatch waits for its loss. */
function byLayers(tf, { sizes, activations, bias }, optimizer, x, y) {
  const model = tf.sequential();
  activations.forEach((name, i) => {
    const first = i ? {} : { inputShape: [sizes[0]] };
    model.add(tf.layers.dense({ units: sizes[i + 1], useBias: bias, ...first }));
    model.add(
      name === "leaky_relu"
        ? tf.layers.leakyReLU({ alpha: 0.01 })
        : tf.layers.activation({ activation: name }),
    );
  });
  model.compile({ optimizer, loss: "meanSquaredError" });
  return () => model.trainOnBatch(x, y);
}

/** TensorFlow.js on a backend, by the faster of its two ways. */
globalThis.theirs = async (backend, given) => {
  const { tf } = globalThis;
  if (backend === "wasm") tf.wasm.setWasmPaths("./");
  if (!(await tf.setBackend(backend))) return null;
  await tf.ready();
  const { sizes, batch, rate } = given;
  const x = tf.randomUniform([batch, sizes[0]]);
  const y = tf.randomUniform([batch, sizes.at(-1)]);
  const optimizer = () => (given.optimizer === "Adam" ? tf.train.adam(rate) : tf.train.sgd(rate));
  const minimize = byVariables(tf, given, optimizer(), x, y);
  const variables = await timed(async (count) => {
    for (let i = 1; i < count; i++) minimize().dispose();
    const loss = minimize();
    await loss.data(); // steps of a graphics card are done then
    loss.dispose();
  });
  const step = byLayers(tf, given, optimizer(), x, y);
  const layers = await timed(async (count) => {
    for (let i = 0; i < count; i++) await step();
  });
  return { minimize: variables, trainOnBatch: layers, tensors: tf.memory().numTensors };
};
