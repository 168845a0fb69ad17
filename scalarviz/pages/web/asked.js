// A question of a lesson: its field or its choices, and what is said to a guess.

import { made, setShown } from "./dom.js";
import { answerWords, isRight, quoted, replyTo } from "./judging.js";
import { text } from "./texts.js";

let asked = 0;

/** Return what stands for a blank in a line: the words around it, and the field. */
function around(line, field) {
  const [before, after = ""] = line.split(/_{2,}/);
  return made("code", "line", before, field, after);
}

/** A question below its text; `changed()` is called when its answer may be seen. */
export class Asked {
  constructor(place, question, answers, changed) {
    this.place = place;
    this.question = question;
    this.answers = answers;
    this.changed = changed;
    this.said = made("p", "said");
    this.said.setAttribute("role", "status");
    this.shows = made("button", "", text("predict.show"));
    this.shows.addEventListener("click", () => this.settle({ shown: true }));
    const row = made("div", "row", ...this.fields(), this.shows);
    place.lastElementChild.before(row, this.said);
    this.show();
  }

  /** Return the buttons of the choices, or a field and a button. */
  fields() {
    const { choices, line, names } = this.question;
    if (choices.length) {
      return choices.map((choice) => {
        const button = made("button", "choice", choice);
        button.addEventListener("click", () => this.guess(choice));
        return button;
      });
    }
    this.field = made("input");
    Object.assign(this.field, {
      type: "text",
      id: `answer-${asked++}`,
      autocomplete: "off",
      maxLength: 200,
    });
    this.field.setAttribute("aria-label", text("predict.field"));
    this.field.placeholder = names.length ? names.join(", ") : text("predict.field");
    const form = made("form", "", line ? around(line, this.field) : this.field);
    form.append(made("button", "check", text("predict.check")));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.guess(this.field.value);
    });
    return [form];
  }

  guess(typed) {
    if (!typed.trim()) return this.say(text("predict.first"));
    try {
      const right = isRight(this.question, typed);
      if (!this.answers.isOpen(this.question.key)) return this.judge(typed, right);
      const { guesses } = this.answers.of(this.question.key);
      return this.settle({ guesses: [...guesses, typed], right });
    } catch (error) {
      return this.say(error.message);
    }
  }

  settle(more) {
    this.answers.put(this.question.key, more);
    this.show();
    this.changed();
  }

  /** Show what was answered. */
  show() {
    const { key, why } = this.question;
    const { guesses, right, shown } = this.answers.of(key);
    const isOpen = this.answers.isOpen(key);
    this.place.classList.toggle("settled", !isOpen);
    this.place.classList.toggle("right", right);
    setShown(this.shows, isOpen && guesses.length > 0);
    for (const button of this.place.querySelectorAll(".choice")) {
      button.setAttribute("aria-pressed", String(button.textContent === guesses.at(-1)));
    }
    if (this.field) this.field.value = guesses.at(-1) ?? "";
    const answer = quoted(answerWords(this.question), this.question);
    if (shown) this.say(text("predict.said.answer", { answer }), why);
    else if (guesses.length) this.judge(guesses.at(-1), right);
  }

  /** Say whether a guess is right, and why; what was settled stays so. */
  judge(typed, right) {
    const words = quoted(right ? answerWords(this.question) : typed, this.question);
    if (right) this.say(text("predict.said.right", { answer: words }), this.question.why);
    else this.say(text("predict.said.wrong", { guess: words }), replyTo(this.question, typed));
  }

  /** Say words, and after them what the lesson says, which is HTML of the page's own. */
  say(words, html = "") {
    const reason = made("span");
    reason.innerHTML = html;
    this.said.replaceChildren(made("b", "", words), " ", reason);
  }
}
