// The data that stand in a page, and one sentence instead of the page where that fails.

import { byId, setShown } from "./dom.js";
import { setTexts, text } from "./texts.js";
import { unzippedText } from "./zipped.js";

/** Return the data that stand in the page: those packed as one part, and those of their own.
 *
 * @returns {Promise<any>}
 */
export async function dataOfPage() {
  byId("waiting").remove(); // which a page says that is cut off before its loader
  try {
    const { plain, ...parts } = JSON.parse(byId("data").textContent);
    const data = { ...JSON.parse(await unzippedText(plain)), ...parts };
    setTexts(data.texts);
    addEventListener("error", (event) => failWith(event.error ?? event.message));
    addEventListener("unhandledrejection", (event) => failWith(event.reason));
    return data;
  } catch (error) {
    setShown(byId("failure"), true); // which says that they are damaged
    throw error;
  }
}

/** Show one sentence instead of the page, and a button that loads it again. */
export function fail(words) {
  byId("failure").querySelector("p").textContent = words;
  setShown(byId("failure"), true);
}

/** Show what went wrong, where nothing knows better. */
export function failWith(error) {
  console.error(error);
  if (!byId("failure").hidden) return;
  fail(
    error?.key ? text(error.key) : text("page.failed", { error: error?.message ?? String(error) }),
  );
}
