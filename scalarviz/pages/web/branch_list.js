// The list of branches behind "…", and what is said when one begins or is dropped.

import { branchWords } from "./branch_lines.js";
import { byId, setShown } from "./dom.js";
import { fillOptions } from "./pressing.js";
import { text } from "./texts.js";

/** The list; `choose` is called with the key of a branch. */
export class BranchList {
  constructor(choose) {
    this.element = byId("branch");
    this.keys = new Set();
    this.element.addEventListener("change", () => choose(Number(this.element.value)));
  }

  /** Show the branches of a state; return what is to be said of them, or "". */
  take({ branch, branches = [], dropped = [], playing }) {
    const news = this.newsOf(branch, branches, dropped);
    for (const { key } of branches) this.keys.add(key);
    setShown(byId("branches"), branches.length > 1);
    const isInUse = playing && document.activeElement === this.element;
    const options = branches.map((each) => [each.key, branchWords(each)]);
    if (!isInUse) fillOptions(this.element, branch, options);
    return news;
  }

  newsOf(branch, branches, dropped) {
    if (dropped.length) return text("page.branch.dropped", { numbers: dropped.join(", ") });
    const now = branches.find(({ key }) => key === branch);
    const isNew = this.keys.size > 0 && now && !this.keys.has(now.key);
    return isNew ? text("notices.branch", { step: now.start }) : "";
  }
}
