// An input of the user's own: the network answers to it until the samples are asked for again.

import { made, setShown } from "./dom.js";
import { neuronName } from "./names.js";
import { said } from "./format.js";
import { text } from "./texts.js";

const MOST_SAID = 4; // numbers that a sentence names

/** A chip that says that an input of the user's own is shown; `ask` sends it, or null, away. */
export class OwnInput {
  constructor(element, ask) {
    this.ask = ask;
    this.inputs = null;
    const button = made("button", "", text("own.end"));
    button.type = "button";
    button.addEventListener("click", () => this.set(null));
    this.element = made("div", "own", [made("span", "", text("own.chip")), button]);
    this.element.hidden = true;
    element.append(this.element);
  }

  /** Show the answer to some inputs; null: to the samples. */
  set(inputs) {
    if (inputs === null && this.inputs === null) return;
    this.inputs = inputs;
    this.ask(inputs);
  }

  /** Show the chip where a state is that of the user's own input. */
  show(state) {
    setShown(this.element, state.own === true);
  }
}

/** Return the sentence about the answer to the user's own input. */
export function sentenceOfOwn(say, state) {
  const given = Array.from(state.values[say.outputs]);
  const listed = (name, values) => {
    if (values.length > MOST_SAID) return "";
    return Array.from(values, (x, i) => `${neuronName(say, [name, i])} ${said(x)}`).join(", ");
  };
  const outputs = listed(say.outputs, given);
  if (!outputs) {
    const name = neuronName(say, [say.outputs, given.indexOf(Math.max(...given))]);
    return text("own.says.largest", { name });
  }
  const inputs = listed(say.inputs, state.inputs);
  return text(inputs ? "own.says" : "own.says.short", { inputs, outputs });
}
