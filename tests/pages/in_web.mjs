// Runs the body of a function in Node, with the names of modules of the page and with data.
import fs from "node:fs";

const { modules, body, data } = JSON.parse(fs.readFileSync(0, "utf8"));
const known = { data };
for (const name of modules) {
  Object.assign(known, await import(`../../scalarviz/pages/web/${name}.js`));
}
const AsyncFunction = (async () => {}).constructor;
const found = await new AsyncFunction(...Object.keys(known), body)(...Object.values(known));
const plain = (key, value) => {
  if (ArrayBuffer.isView(value)) return Array.from(value, number);
  return number(value);
};
const number = (value) =>
  typeof value === "number" && !Number.isFinite(value) ? `${value}` : value;
process.stdout.write(JSON.stringify(found ?? null, plain));
