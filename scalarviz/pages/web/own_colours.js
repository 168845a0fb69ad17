// The colors that a network learns: a map, or the visitor's pairs, which are chosen one by one.

import { samplesOf } from "./data_sets.js";
import { byId, isNews, made, setShown } from "./dom.js";
import { fillOptions, madeButton } from "./events.js";
import { codeOf } from "./exhibit.js";
import { colorOf } from "./palette.js";
import { COLOURS, MOST_PAIRS, colours_in, packed_colours } from "./story/build_link.js";
import { text } from "./texts.js";

const OWN = "colours"; // the option of the visitor's pairs
const BEGUN = [3840, 240, 15, 4080]; // of the grid: red, green, blue and yellow

/** The fields for colors, and what they do to settings. */
export class OwnColours {
  /** `take` trains on data; `tell` shows a sentence. */
  constructor({ take, tell }) {
    this.take = take;
    this.tell = tell;
    this.last = ""; // the pairs before a map was chosen
    this.map = made("select");
    this.map.addEventListener("change", () => this.choose(this.map.value));
    const add = madeButton("", text("build.colours.add"), () => this.add());
    this.fields = ["#cc3333", "#33cccc"].map((value) => Object.assign(made("input"), { type: "color", value })); // prettier-ignore
    ["in", "out"].forEach((name, i) => (this.fields[i].ariaLabel = text(`build.colours.${name}`)));
    this.pairs = made("div", "pairs");
    this.own = made("div", "chosen-pairs", this.fields[0], "→", this.fields[1], add, this.pairs);
    this.map.ariaLabel = text("build.colours");
    byId("colours").append(made("label", "", made("span", "", text("build.colours")), this.map), this.own); // prettier-ignore
  }

  choose(shape) {
    if (shape !== OWN) return this.take({ shape });
    this.take({ shape: this.settings.shape, colours: (this.last ||= this.begun()) });
  }

  /** Some colors with what the map makes of them. */
  begun() {
    const { inputs, targets } = samplesOf(this.settings);
    return packed_colours(BEGUN.map((i) => [...inputs[i], ...targets[i]]));
  }

  /** Add the pair that is chosen, in place of one with the same input. */
  add() {
    const pair = this.fields.flatMap(({ value }) => [...colorOf(value)]);
    const others = this.found.filter((each) => codesOf(each)[0] !== this.fields[0].value);
    if (others.length === MOST_PAIRS) return this.tell(text("build.colours.many", { most: MOST_PAIRS })); // prettier-ignore
    this.set([...others, pair]);
  }

  remove(pair) {
    if (this.found.length < 3) return this.tell(text("build.colours.few"));
    this.set(this.found.filter((each) => each !== pair));
  }

  set(pairs) {
    this.last = packed_colours(pairs);
    this.take({ shape: this.settings.shape, colours: this.last });
  }

  show(settings) {
    this.settings = settings;
    const { shape, colours } = settings;
    const all = [...COLOURS, OWN].map((name) => [name, text(`build.learned.${name}`)]);
    fillOptions(this.map, colours ? OWN : shape, all);
    setShown(this.own, colours !== "");
    if (!isNews(this.pairs, colours)) return;
    this.found = colours_in(colours);
    const buttons = this.found.map((pair) => {
      const [low, high] = codesOf(pair);
      const button = madeButton("", "×", () => this.remove(pair));
      button.style.background = `linear-gradient(90deg, ${low} 50%, ${high} 0)`;
      button.ariaLabel = button.title = text("build.colours.remove", { pair: `${low} → ${high}` });
      return button;
    });
    this.pairs.replaceChildren(...buttons);
  }
}

/** The colors of a pair, as texts. */
function codesOf(pair) {
  return [codeOf(pair.slice(0, 3)), codeOf(pair.slice(3))];
}
