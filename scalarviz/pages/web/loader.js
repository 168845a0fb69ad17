// Unpacks the script of the page and runs it, or shows one sentence: why there is none.

import { unzippedText } from "./zipped.js";

/** Show a sentence instead of the page; without one, that the file is damaged. */
function refuse(words = "") {
  const failure = document.getElementById("failure");
  if (words) failure.querySelector("p").textContent = words;
  document.getElementById("waiting").remove();
  failure.hidden = false;
}

async function load() {
  document.getElementById("reload").addEventListener("click", () => location.reload());
  const code = document.getElementById("code");
  if (typeof DecompressionStream === "undefined") return refuse(code.dataset.lack);
  const script = document.createElement("script");
  script.type = "module";
  script.nonce = code.nonce; // which the policy of a page around may want
  script.textContent = await unzippedText(code.textContent);
  return document.body.append(script); // runs if its hash is in the policy of the page
}

load().catch((error) => {
  console.error(error);
  refuse();
});
