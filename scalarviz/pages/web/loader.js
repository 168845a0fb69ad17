// Unpacks the rules and the script of the page and runs it, or shows one sentence: why there is none.

import { unzippedText } from "./zipped.js";

/** Replace the page by a message; by default, that the file is damaged. */
function refuse(words = "") {
  const failure = document.getElementById("failure");
  if (words) failure.querySelector("p").textContent = words;
  document.getElementById("waiting").remove();
  failure.hidden = false;
}

/** Return a script or style element with a packed text; the policy of the page has its hash. */
async function unpacked(name, words, nonce) {
  const made = document.createElement(name);
  made.nonce = nonce; // which the policy of a page around may want
  made.textContent = await unzippedText(words);
  return made;
}

async function load() {
  document.getElementById("reload").addEventListener("click", () => location.reload());
  const code = document.getElementById("code");
  if (typeof DecompressionStream === "undefined") return refuse(code.dataset.lack);
  const rules = document.getElementById("rules"); // a lesson has none
  const [script, style] = await Promise.all([
    unpacked("script", code.textContent, code.nonce),
    unpacked("style", rules ? rules.textContent : "", code.nonce),
  ]);
  document.head.append(style);
  script.type = "module";
  return document.body.append(script);
}

load().catch((error) => {
  console.error(error);
  refuse();
});
