// What stands behind "…": the first controls in their groups, all others under "More".

import { byId, made } from "./dom.js";

let known = []; // the groups of the page

/** Put the first controls into their groups, as far as the page has them; see first_controls.py. */
export function arrange(groups = known) {
  known = groups;
  const focused = document.activeElement;
  const shown = groups.flatMap(({ title, names }) => {
    const find = (name) => [...byId("sheet").querySelectorAll(`[data-row="${name}"]`)];
    const found = names.flatMap(find);
    const group = made("div", "offer-group", made("h3", "", title), ...found);
    Object.assign(group, { role: "group", ariaLabel: title });
    return found.length ? [group] : [];
  });
  byId("first").replaceChildren(...shown);
  if (focused instanceof HTMLElement) focused.focus();
}
