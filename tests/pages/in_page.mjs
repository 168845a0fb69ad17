// Runs the body of a function, which comes by standard input, on the engine of a folder.
import fs from "node:fs"
import { Engine } from "../../scalarviz/pages/web/engine.js"

const [folder] = process.argv.slice(2)
const spec = JSON.parse(fs.readFileSync(`${folder}/spec.json`, "utf8"))
const [module, image] = ["module", "image"].map((name) => fs.readFileSync(`${folder}/${name}`))
const engine = await Engine.open(module, image, spec)

const same = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)) === 0
const AsyncFunction = (async () => {}).constructor
const known = { engine, spec, same, open: () => Engine.open(module, image, spec) }
const body = new AsyncFunction(...Object.keys(known), fs.readFileSync(0, "utf8"))
const plain = (key, value) => {
  if (ArrayBuffer.isView(value)) return Array.from(value, number)
  return number(value)
}
const number = (value) => (typeof value === "number" && !Number.isFinite(value) ? `${value}` : value)
process.stdout.write(JSON.stringify((await body(...Object.values(known))) ?? null, plain))
