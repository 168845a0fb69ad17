// Calls functions of a module that was made of Python; writes what they return, or the error.
import fs from "node:fs";

const [file] = process.argv.slice(2);
const made = await import(file);
const asked = JSON.parse(fs.readFileSync(0, "utf8"), (key, value) =>
  value?.float === undefined ? value : Number(value.float),
);

/** Return a value as JSON has it, see `plain` in test_translator.py. */
function plain(value) {
  if (typeof value === "number") return Number.isFinite(value) ? value : { float: String(value) };
  if (value === null || value === undefined || typeof value !== "object") return value ?? null;
  if (value instanceof Map) return { dict: [...value].map(plain) };
  if (value instanceof Set) return { set: [...value].map(plain).map(JSON.stringify).sort() };
  if (Array.isArray(value)) return value.map(plain);
  return { [value.constructor.name]: Object.values(value).map(plain) };
}

const answers = asked.map(([name, args]) => {
  try {
    return plain(made[name](...args));
  } catch (error) {
    return error.constructor.name;
  }
});
process.stdout.write(JSON.stringify(answers));
