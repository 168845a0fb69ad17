// Keys of the page; as faces/controller/controls.py has them.

const TIMES = 10; // with shift
const UNDOING = { z: ["undo"], Z: ["redo"], y: ["redo"] }; // with Ctrl or Cmd

/** Return the command of a key: its name and its arguments; null if it has none. */
export function commandOf(event) {
  if ((event.ctrlKey || event.metaKey) && !event.altKey) return UNDOING[event.key] ?? null;
  if (event.altKey) return null;
  const times = event.shiftKey ? TIMES : 1;
  // prettier-ignore
  switch (event.key) {
    case " ": case "t": return ["toggle"];
    case "ArrowRight": return ["on", times];
    case "ArrowLeft": return ["back", times];
    case ".": return ["one", "on"];
    case ",": return ["one", "back"];
    case "ArrowUp": return ["scaleRate", 2];
    case "ArrowDown": return ["scaleRate", 0.5];
    case "Enter": return ["point"];
    case "e": return ["editPinned"];
    case "b": return ["nextBranch"];
    case "s": return ["slowStep"];
    case "r": return ["reset"];
    case "z": return ["undo"];
    case "Z": case "y": return ["redo"];
    case "<": return ["sample", -1];
    case ">": return ["sample", 1];
    case "d": return ["nextTheme"];
    case "g": return ["enlarge"];
    case "p": return ["guess"];
    case "n": return ["guessOn"];
    case "h": return ["toggleMarks"];
    case "?": return ["toggleSheet", true];
    case "Escape": return ["close"];
    default: return null;
  }
}

/** Whether an element takes a key itself: a field takes all, a button those that press it. */
export function takesKey(element, key) {
  if (element.matches("input[type=text], input[type=number], select")) return key !== "Escape";
  if (element.matches("input[type=range]")) return key.startsWith("Arrow");
  return element.matches("button, summary") && (key === " " || key === "Enter");
}
