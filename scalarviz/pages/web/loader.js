// Unpacks the rules and the script of the page and runs it, or shows one sentence: why there is none.

import { unzippedText } from "./zipped.js";

/** Show a sentence instead of the page; without one, that the file is damaged. */
function refuse(words = "") {
  const failure = document.getElementById("failure");
  if (words) failure.querySelector("p").textContent = words;
  document.getElementById("waiting").remove();
  failure.hidden = false;
}

/** Return an element with a packed text, which takes effect if its hash is in the policy of the page. */
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
