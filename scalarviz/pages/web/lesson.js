// Starts a lesson: what follows a question appears after its answer, and the end has all guesses.

import { LessonAnswers } from "./lesson_answers.js";
import { byId, dataOfPage, failWith, made, setShown, setWords } from "./dom.js";
import { madeButton } from "./events.js";
import { agrees, answer_words, quoted, reply_to } from "./story/judging.js";
import { text } from "./texts.js";
import { unzippedText } from "./zipped.js";

/** Return an element with HTML from the lesson. */
function lessonSays(tag, html) {
  const found = made(tag);
  found.innerHTML = html;
  return found;
}

class LessonPage {
  constructor({ lesson, questions, pictures, ...parts }) {
    this.answers = new LessonAnswers(lesson, location.hash);
    this.questions = questions;
    this.parts = [...document.querySelectorAll("#lesson > *")];
    const places = [...document.querySelectorAll(".picture[data-number]")];
    this.pictures = places.map((place, number) => {
      return new LessonPicture(place, parts[`picture${number}`], pictures[number]);
    });
    this.asked = [...document.querySelectorAll(".question")].map((place, i) => {
      const asked = new Asked(place, questions[i], this.answers, () => this.follow());
      if (questions[i].see) this.offerMoment(place, questions[i].see);
      return asked;
    });
    this.follow();
    this.call();
    addEventListener("hashchange", () => this.call());
    this.fillEnd();
  }

  /** Show the parts up to the first open question. */
  follow() {
    const open = this.asked.find(({ question }) => this.answers.isOpen(question.key));
    const last = open ? this.parts.indexOf(open.place) : this.parts.length;
    for (const [i, part] of this.parts.entries()) {
      setShown(part, i <= last || part.matches(".end, .called"));
    }
    const done = this.asked.filter(({ question }) => !this.answers.isOpen(question.key)).length;
    setWords(byId("progress"), text("lesson.progress", { done, all: this.asked.length }));
    byId("done").value = this.asked.length ? done / this.asked.length : 1;
    this.fillTable();
  }

  /** Show the question that the URL names, even if questions above it are not answered. */
  call() {
    const place = this.asked.find(
      ({ place: { id } }) => `#${encodeURI(id)}` === location.hash,
    )?.place;
    if (!place) return;
    place.classList.add("called");
    setShown(place, true);
    place.scrollIntoView();
  }

  /** Show a link to the moment of the nearest picture that shows the answer of a question. */
  offerMoment(place, see) {
    const after = (each) =>
      place.compareDocumentPosition(each.place) & Node.DOCUMENT_POSITION_FOLLOWING;
    const picture = this.pictures.find(after) ?? this.pictures.at(-1);
    if (!picture) return;
    const show = () => {
      picture.place.classList.add("called"); // it may stand behind the next question
      setShown(picture.place, true);
      picture.show(see);
    };
    place.append(madeButton("see", text("lesson.see"), show));
  }

  fillTable() {
    const names = ["question", "guess", "result", "why"];
    const titles = names.map((name) => text(`predict.table.${name}`));
    const head = made("tr", "", ...titles.map((title) => made("th", "", title)));
    const begun = this.questions.filter(({ key }) => this.answers.of(key).guesses.length);
    setShown(byId("guesses"), begun.length > 0);
    const rows = begun.map((question) => {
      const { guesses } = this.answers.of(question.key);
      const isOpen = this.answers.isOpen(question.key);
      const cells = [
        lessonSays("td", question.ask),
        made("td", "", guesses.join(", ")),
        made("td", "", isOpen ? "" : answer_words(question.answer)),
        lessonSays("td", isOpen ? "" : question.why),
      ];
      cells.forEach((each, i) => (each.dataset.name = titles[i])); // before it on narrow screens
      return made("tr", "", ...cells);
    });
    byId("guesses").replaceChildren(head, ...rows);
  }

  /** Fill the end of a lesson: copy answers as a link, and start again. */
  fillEnd() {
    const asks = this.questions.length + this.pictures.length > 0;
    for (const part of ["#progress", "#done", ".end"]) {
      for (const each of document.querySelectorAll(part)) setShown(each, asks);
    }
    setShown(document.querySelector("header"), asks);
    const name = byId("name");
    name.value = this.answers.name;
    name.addEventListener("input", () => {
      this.answers.name = name.value.trim();
      this.answers.keep();
    });
    byId("copy").addEventListener("click", async () => {
      const link = this.answers.link(location.href);
      const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false); // prettier-ignore
      this.tell(copied ? text("lesson.copied") : link);
    });
    byId("again").addEventListener("click", () => {
      const isSure = byId("told").textContent === text("lesson.again");
      this.tell(isSure ? "" : text("lesson.again"));
      if (!isSure) return;
      this.answers.forget();
      this.answers.keep();
      name.value = "";
      for (const each of this.asked) {
        each.said.replaceChildren();
        each.show();
      }
      this.follow();
      scrollTo({ top: 0 });
    });
  }

  tell(words) {
    setWords(byId("told"), words);
  }
}

async function begin() {
  const lesson = new LessonPage(await dataOfPage());
  Object.assign(globalThis, { scalarvizLesson: lesson }); // for the console
}

if (typeof document !== "undefined") begin().catch(failWith);

// A question: its field or its choices, and what is said to a guess.

let asked = 0;

/** Return the elements of a line with a blank: the text around it, and the field. */
function around(line, field) {
  const [before, after = ""] = line.split(/_{2,}/);
  return made("code", "line", before, field, after);
}

/** A question of the lesson; `changed()` is called when its answer may be shown. */
export class Asked {
  constructor(place, question, answers, changed) {
    this.place = place;
    this.question = question;
    this.answers = answers;
    this.changed = changed;
    this.said = made("p", "said");
    this.said.setAttribute("role", "status");
    this.shows = madeButton("", text("predict.show"), () => this.settle({ shown: true }));
    const row = made("div", "row", ...this.fields(), this.shows);
    place.lastElementChild.before(row, this.said);
    this.show();
  }

  /** Return the elements for the answer: buttons for the choices, or a field and a button. */
  fields() {
    const { choices, line, names } = this.question;
    if (choices.length) {
      return choices.map((choice) => madeButton("choice", choice, () => this.guess(choice)));
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
      const right = agrees(this.question, typed, this.question.answer);
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

  /** Show the answer that was given. */
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
    const answer = quoted(answer_words(this.question.answer), this.question);
    if (shown) this.say(text("predict.said.answer", { answer }), why);
    else if (guesses.length) this.judge(guesses.at(-1), right);
  }

  /** Show whether a guess is right, and why; an answered question stays answered. */
  judge(typed, right) {
    const words = quoted(right ? answer_words(this.question.answer) : typed, this.question);
    if (right) this.say(text("predict.said.right", { answer: words }), this.question.why);
    else this.say(text("predict.said.wrong", { guess: words }), reply_to(this.question, typed));
  }

  /** Show a text, followed by HTML from the lesson. */
  say(words, html = "") {
    this.said.replaceChildren(made("b", "", words), " ", lessonSays("span", html));
  }
}

// Pictures of a lesson: pages that train, each in a frame, made when they come near.

const NEARLY = "300px"; // below the window

/** A picture of the lesson in a frame; `packed` is its page, `moment` its initial view. */
class LessonPicture {
  constructor(place, packed, moment) {
    this.place = place;
    this.packed = packed;
    this.moment = moment;
    const near = new IntersectionObserver(
      (seen) => {
        if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
        near.disconnect();
        this.open();
      },
      { rootMargin: NEARLY },
    );
    near.observe(place);
  }

  async open() {
    const page = await unzippedText(this.packed);
    this.address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
    this.frame = made("iframe");
    this.frame.title = text("lesson.picture");
    this.frame.src = `${this.address}#${this.moment}`;
    this.place.replaceChildren(this.frame);
  }

  /** Show a moment, given as a URL fragment. */
  show(moment) {
    this.moment = moment;
    if (this.frame) this.frame.src = `${this.address}#${moment}`;
    this.place.scrollIntoView({ block: "center" });
  }
}
