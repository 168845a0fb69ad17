// Runs the body of a function that gets a module of the page, and prints what it returns.

import { readFileSync } from "node:fs";

const module = await import(process.argv[2]);
const made = new Function("page", readFileSync(0, "utf8"))(module);
process.stdout.write(JSON.stringify(made));
