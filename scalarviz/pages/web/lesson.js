// Starts a lesson: what follows a question appears after its answer, and the end has all guesses.

import { LessonAnswers } from "./lesson_answers.js";
import { Asked } from "./asked.js";
import { byId, made, setShown, setWords } from "./dom.js";
import { answerWords } from "./judging.js";
import { LessonPicture } from "./lesson_pictures.js";
import { dataOfPage, failWith } from "./page_data.js";
import { sendAnswers } from "./sending.js";
import { text } from "./texts.js";

/** Return a cell of the table of guesses; what the lesson says is HTML of the page's own. */
function cell(words, html = "") {
  const found = made("td", "", words);
  if (html) found.innerHTML = html;
  return found;
}

class LessonPage {
  constructor({ lesson, questions, pictures, collects, format, ...parts }) {
    this.answers = new LessonAnswers(lesson, format, location.hash);
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
    for (const link of document.querySelectorAll("a")) {
      const isOurs = link.host === location.host && link.pathname.endsWith(".html");
      if (isOurs) link.search = location.search; // the class's token, which no other machine gets
    }
    this.follow();
    this.call();
    addEventListener("hashchange", () => this.call());
    setShown(byId("sending"), collects);
    this.fillEnd();
    addEventListener("message", ({ data, source }) => this.hear(data, source));
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

  /** Show the question that the address names, also before those above it are answered. */
  call() {
    const place = this.asked.find(
      ({ place: { id } }) => `#${encodeURI(id)}` === location.hash,
    )?.place;
    if (!place) return;
    place.classList.add("called");
    setShown(place, true);
    place.scrollIntoView();
  }

  /** Offer the moment of the nearest picture that shows an answer, once it may be seen. */
  offerMoment(place, see) {
    const after = (each) =>
      place.compareDocumentPosition(each.place) & Node.DOCUMENT_POSITION_FOLLOWING;
    const picture = this.pictures.find(after) ?? this.pictures.at(-1);
    if (!picture) return;
    const button = made("button", "see", text("lesson.see"));
    button.addEventListener("click", () => {
      picture.place.classList.add("called"); // it may stand behind the next question
      setShown(picture.place, true);
      picture.show(see);
    });
    place.append(button);
  }

  fillTable() {
    const names = ["question", "guess", "result", "why"];
    const head = made(
      "tr",
      "",
      ...names.map((name) => made("th", "", text(`predict.table.${name}`))),
    );
    const begun = this.questions.filter(({ key }) => this.answers.of(key).guesses.length);
    setShown(byId("guesses"), begun.length > 0);
    const rows = begun.map((question) => {
      const { guesses } = this.answers.of(question.key);
      const isOpen = this.answers.isOpen(question.key);
      const result = isOpen ? "" : answerWords(question);
      const why = isOpen ? "" : question.why;
      const cells = [cell("", question.ask), cell(guesses.join(", ")), cell(result), cell("", why)];
      for (const [i, name] of names.entries()) {
        cells[i].dataset.name = text(`predict.table.${name}`); // which narrow screens show before it
      }
      return made("tr", "", ...cells);
    });
    byId("guesses").replaceChildren(head, ...rows);
    const { right, asked } = this.answers.guessed;
    setWords(byId("arrows"), asked ? text("lesson.arrows", { right, asked }) : "");
  }

  /** Offer to keep the answers as a file and as a link, and to begin anew; not in a mere text. */
  fillEnd() {
    const asks = this.questions.length + this.pictures.length > 0;
    for (const part of ["#progress", "#done", ".end"]) {
      for (const each of document.querySelectorAll(part)) setShown(each, asks);
    }
    setShown(document.querySelector("header"), asks || document.querySelector(".links") !== null);
    const name = byId("name");
    name.value = this.answers.name;
    name.addEventListener("input", () => {
      this.answers.name = name.value.trim();
      this.answers.keep();
    });
    byId("save").addEventListener("click", () => this.save());
    byId("copy").addEventListener("click", async () => {
      const link = this.answers.link(location.href);
      const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false); // prettier-ignore
      this.tell(copied ? text("lesson.copied") : link);
    });
    byId("send").addEventListener("click", async () => {
      const refused = await sendAnswers(this.answers.record()).catch(({ message }) => message);
      this.tell(refused ?? text("lesson.sent"));
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

  save() {
    const { name, lesson } = this.answers;
    const content = JSON.stringify(this.answers.record(), null, 1);
    const link = made("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "application/json" }));
    link.download = `${[name, lesson]
      .filter(Boolean)
      .join("-")
      .replace(/[^\p{L}\p{N}-]+/gu, "-")}.json`;
    link.click();
    this.tell(text("lesson.saved", { file: link.download }));
  }

  tell(words) {
    setWords(byId("told"), words);
  }

  /** Take from a picture how many of its guesses were right. */
  hear(data, source) {
    const isOurs = this.pictures.some(({ frame }) => frame?.contentWindow === source);
    if (!isOurs || data?.scalarviz !== "guess") return;
    const { right, asked } = data;
    if (!Number.isInteger(right) || !Number.isInteger(asked)) return;
    this.answers.guessed = { right, asked };
    this.answers.keep();
    this.fillTable();
  }
}

async function begin() {
  const lesson = new LessonPage(await dataOfPage());
  Object.assign(globalThis, { scalarvizLesson: lesson }); // for the console
}

if (typeof document !== "undefined") begin().catch(failWith);
