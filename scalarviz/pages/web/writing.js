// The names that the network writes while it learns, and a field in which a user begins one.

import { isNews, isTouched, made, setShown, setWords } from "./dom.js";
import { short, stripped, typeset } from "./story/decimals.js";
import { NONE } from "./story/facts.js";
import { Choice } from "./story/sequence_places.js";
import { HEAT } from "./story/written_names.js";
import { text } from "./texts.js";

const TEMPERATURES = { min: 0.2, max: 2, step: 0.1 };
const APART = 400; // milliseconds between two questions for names, at least
const PADDING = -1; // index of a place after the name
const EXPLAINED = ["query", "key", "value", "join", "norm", "wide", "narrow"]; // parts of the picture

/** Shows what the network writes, below the title; `signs` and `random` are of `page.names`. */
export class Writing {
  constructor(app, { signs, random }) {
    this.app = app;
    this.signs = signs;
    this.random = random;
    this.places = random[0].length + 1;
    this.seen = null; // the names written last, and their step
    this.shown = ""; // what they were asked for
    this.due = 0;
    this.asking = false;
    this.explained = ""; // the sentence about the part under the pointer
    this.names = made("output");
    this.field = made("input");
    Object.assign(this.field, { type: "search", autocomplete: "off", spellcheck: false, autocapitalize: "none", title: text("names.write.about") }); // prettier-ignore
    this.field.addEventListener("input", () => this.write(this.field.value));
    this.heat = made("input");
    Object.assign(this.heat, { type: "range", ...TEMPERATURES, value: HEAT, title: text("names.heat.about") }); // prettier-ignore
    this.heated = made("span", "label");
    this.heat.addEventListener("input", () => this.turn());
    const label = (words) => made("span", "label", words);
    const rows = [
      made("p", "", label(text("names.now")), this.names),
      made("label", "", label(text("names.write")), this.field),
      made("label", "", this.heated, this.heat),
    ];
    document.querySelector(".task").append(made("div", "writing", ...rows));
    this.sayHeat();
  }

  sayHeat() {
    setWords(
      this.heated,
      text("names.heat", { heat: typeset(stripped(short(Number(this.heat.value)))) }),
    );
  }

  /** Divide the scores of the names and of the bars by the temperature of the slider. */
  turn() {
    const heat = Number(this.heat.value);
    this.sayHeat();
    this.app.change({ choice: Object.assign(new Choice(), this.app.choice, { heat }) });
    void this.follow(this.app.state);
  }

  /** Show the answers of the network to a text; "" shows the samples again. */
  write(words) {
    const letters = [...words.toLowerCase()];
    const known = letters.filter((each) => this.signs.indexOf(each) > 0);
    if (known.length < letters.length) this.app.refuse(text("names.letters", { first: this.signs[1], last: this.signs.at(-1) })); // prettier-ignore
    const name = known.slice(0, this.places - 1);
    if (known.length > name.length) this.app.refuse(text("names.long", { most: this.places - 1 }));
    this.field.value = name.join("");
    const place = name.length || NONE;
    this.app.act();
    this.app.change({ choice: Object.assign(new Choice(), this.app.choice, { place, letter: NONE }) }); // prettier-ignore
    const codes = name.map((each) => this.signs.indexOf(each));
    const inputs = Array.from({ length: this.places }, (_, i) => [0, ...codes][i] ?? PADDING);
    this.app.own.set(name.length ? inputs : null, "name");
  }

  /** Explain the part of the picture at a place: the words there, or the wall of the cube there. */
  explain(thing, x, y) {
    if (x < 0 && isTouched()) return; // a finger that is lifted
    const { picture } = this.app;
    const plan = picture.placed.sequence;
    const said = picture.textAt?.(x, y) || wallOf(plan, thing?.row ?? NONE);
    const words = EXPLAINED.map((name) => text(`names.part.${name}`)).findLast((each, i) => said === EXPLAINED[i] || said.includes(each.split(":")[0])) ?? ""; // prettier-ignore
    if (words === this.explained) return;
    this.app.chip.drop(this.explained);
    this.explained = words;
    if (words) this.app.chip.stand(words);
  }

  /** Append a letter by its bar: at once while a user writes, else if it was chosen before.
   *
   * Returns whether it was appended.
   */
  append(choice) {
    const { usual } = this.app.picture.placed.sequence;
    const before = this.app.choice?.letter ?? NONE;
    const letter = choice.letter === NONE ? before : choice.letter;
    const isBar = choice.letter !== before && choice.place === (this.app.choice ?? choice).place;
    if (!isBar || letter < 1 || !(this.field.value || choice.letter === NONE)) return false;
    const read = Array.from(this.app.state.inputs);
    const place = read.filter((code) => code >= 0).length - 1;
    const chosen = choice.place === NONE ? Math.min(place, usual) : choice.place;
    const codes = read.slice(1, Math.min(place, chosen) + 1);
    this.write([...codes, letter].map((code) => this.signs[code]).join(""));
    return true;
  }

  /** Ask for new names if the weights have changed, and show those written last. */
  async follow(state) {
    if (!this.app.own.inputs && this.field.value) {
      this.field.value = ""; // the samples are shown again
      const { heat } = this.app.choice;
      this.app.change({ choice: Object.assign(new Choice(), { heat }) });
    }
    const { step, branch, jumps, value } = state;
    const sum = value.reduce((all, each) => all + each, 0);
    const heat = Number(this.heat.value);
    const [mark, now] = [[step, branch, jumps, sum, heat].join(), performance.now()];
    if (this.asking || mark === this.shown) return;
    if (now < this.due) {
      this.later ??= setTimeout(() => {
        this.later = undefined;
        void this.follow(this.app.state);
      }, this.due - now);
      return;
    }
    const { signs, random } = this;
    this.asking = true;
    const seen = await this.app.player.ask("names", { signs, random, heat });
    Object.assign(this, {
      seen: seen && { ...seen, heat },
      shown: mark,
      asking: false,
      due: performance.now() + APART,
    });
    if (seen) this.show(seen.names);
    this.app.request();
  }

  show(names) {
    setShown(this.names.parentElement, true);
    if (!isNews(this.names, names)) return;
    const word = ({ letters, is_known }) =>
      Object.assign(made("span", is_known ? "known" : "", letters || text("names.empty")), {
        title: is_known ? text("names.known") : "",
      });
    this.names.replaceChildren(...names.map(word));
  }
}

/** Return the name of the wall to which a weight of a sequence belongs; "" without a weight. */
function wallOf({ rows, each, size }, row) {
  const wall = ["join", "wide", "narrow", "scores"].findLast((name) => row >= rows[name]);
  const kind = Math.floor((row - rows.qkv) / (each * size)) % 3; // of a row in a head
  return wall ?? (row >= rows.qkv ? EXPLAINED[kind] : "");
}
