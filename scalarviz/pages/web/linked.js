// Starts a page whose training is a session of Python, and builds it anew when that changes.

import { FrameChannel, SocketChannel, tokenIn } from "./link_channels.js";
import { byId, dataOfPage, failWith, made, setShown, setWords } from "./dom.js";
import { followLink } from "./links.js";
import { showTour } from "./guide.js";
import { LinkClient } from "./link_client.js";
import { appAnew, appOf, dress, markupOfPage, pictureOf } from "./app.js";
import { setTexts } from "./texts.js";
import { fillOptions, madeButton } from "./events.js";
import { arrange } from "./controls.js";

/** Return the channel that the data of a page specify. */
function channelOf({ channel, path }) {
  if (channel === "frame") return new FrameChannel();
  const address = new URL(path, location.href.split(/[?#]/)[0]);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return new SocketChannel(address.href, tokenIn(location));
}

/** Connect the callbacks of a client with an app. */
function join(client, app) {
  client.ontold = (words) => app.tell(words);
  client.onrefused = (words) => {
    app.controls.rate = null; // what was typed is taken back
    app.refuse(words);
  };
  client.onpicture = () => {
    app.draw();
    return byId("cubes").toDataURL(); // WebGL forgets it after the frame
  };
  let stands = "";
  client.onstand = (words) => {
    if (words) app.chip.stand(words);
    else app.chip.drop(stands);
    if (!client.isOpen) app.player.halt();
    stands = words;
    app.request();
  };
}

async function startLinked() {
  const data = await dataOfPage();
  const { spec, link } = data;
  const markup = markupOfPage();
  document.documentElement.classList.add("linked");
  dress(spec);
  const channel = channelOf(link);
  const client = new LinkClient(channel, { spec, version: link.version });
  let app = appOf(spec, client, pictureOf(spec));
  const { pin } = spec.page;
  if (pin) app.pin(pin);
  if (!spec.page.theme && channel instanceof FrameChannel)
    channel.ontheme = (name) => app.setTheme(name);
  const offers = new Offers((name, value) => app.player.ask(name, { value }));
  client.onoffers = (list) => offers.show(list);
  client.ondescribed = (described) => {
    const focused = document.activeElement;
    setTexts(described.texts);
    app = appAnew(app, markup, described.spec);
    join(client, app);
    offers.place(focused);
  };
  join(client, app);
  offers.place();
  if (data.first) client.show(data.first);
  channel.open();
  await client.opened;
  const hash = () => location.hash.replace(/[#&]token=[^&]*&?/, "#");
  addEventListener("hashchange", () => followLink(app, hash()));
  if (!(await followLink(app, hash())) && spec.page.tour) await showTour(app);
}

startLinked().catch(failWith);

// What Python can do with a session beyond the page's own controls: fields behind "…".

/** Fields for the controls that Python offers; `run(name, value)` uses one, null if invalid. */
export class Offers {
  constructor(run) {
    this.run = run;
    this.element = made("div", "offers");
    this.fields = new Map(); // by name of a control
    this.list = [];
    this.mark = "";
  }

  /** Insert all fields into the sheet, which is a new one after the page was rebuilt. */
  place(focused = null) {
    byId("others").querySelector(".buttons").before(this.element);
    this.make(this.list);
    if (byId("sheet").contains(focused)) focused.focus();
  }

  /** Update the controls, without changing text that is being typed or the order of fields. */
  show(list) {
    this.list = list;
    const mark = JSON.stringify(
      list.map(({ name, kind, label, menu }) => [name, kind, label, menu]),
    );
    if (mark !== this.mark) this.make(list);
    this.mark = mark;
    for (const each of list) this.fields.get(each.name).show(each);
  }

  /** Create the fields, grouped by menu. */
  make(list) {
    const menus = new Map(list.map(({ menu = "" }) => [menu, []]));
    const old = this.fields;
    this.fields = new Map();
    for (const each of list) {
      const { name, kind, menu = "" } = each;
      const known = old.get(name);
      const field =
        known?.kind === kind ? known : new OfferField(each, (value) => this.use(name, value));
      field.element.dataset.row = name;
      this.fields.set(name, field);
      menus.get(menu).push(field.element);
    }
    const groups = [...menus].map(([menu, inside]) => {
      const title = menu ? [made("h2", "", menu)] : [];
      const group = made("div", "offer-group", ...title, ...inside);
      group.role = "group";
      if (menu) group.ariaLabel = menu;
      return group;
    });
    for (const [name, { element }] of old) if (!this.fields.has(name)) element.remove();
    this.element.replaceChildren(...groups);
    setShown(this.element, list.length > 0);
    if (this.element.isConnected) arrange();
  }

  async use(name, value) {
    const found = await this.run(name, value);
    if (found === null) for (const each of this.list) this.fields.get(each.name)?.show(each);
  }
}

/** The element for a control: a button, or a label with a field. */
class OfferField {
  constructor({ name, kind, example = "" }, use) {
    this.kind = kind;
    this.use = use;
    this.label = made("span", "label");
    this.said = made("output");
    if (kind === "button") {
      this.field = this.element = madeButton("", "", () => use(null));
      return;
    }
    this.field = made(kind === "choice" ? "select" : "input");
    Object.assign(this.field, { name, placeholder: example });
    if (kind !== "choice") this.field.type = FIELD_TYPES[kind] ?? "text";
    this.field.autocomplete = "off";
    const change = kind === "slider" ? "input" : "change";
    this.field.addEventListener(change, () => use(this.value));
    this.field.addEventListener("keydown", (/** @type {any} */ { key }) => {
      if (key === "Enter" && this.field.matches("[type=text]")) this.field.blur();
    });
    const parts = kind === "tick" ? [this.field, this.label] : [this.label, this.field];
    this.element = made("label", `choice offer ${kind}`, ...parts, this.said);
  }

  get value() {
    const { kind, field } = this;
    if (kind === "tick") return field.checked;
    if (kind === "slider") return Number(field.value);
    return field.value;
  }

  show({ label, text: said = "", about = "", value, names = [], enabled = true, low, high, step }) {
    const { kind, field } = this;
    this.element.title = about;
    field.disabled = !enabled;
    if (kind === "button") return setWords(field, said || label);
    setWords(this.label, label);
    setWords(this.said, said);
    setShown(this.said, said !== "");
    // What a user chooses or types at present is not replaced below the hand.
    const isInUse = document.activeElement === field && kind !== "tick";
    if (isInUse && enabled) return undefined;
    const options = names.map((each) => [each, each]);
    if (kind === "choice") fillOptions(field, value, options);
    else if (kind === "tick") field.checked = value === true;
    else {
      if (kind === "slider")
        Object.assign(field, { min: low ?? 0, max: high ?? 100, step: step ?? 1 });
      field.value = value ?? "";
    }
    return undefined;
  }
}

const FIELD_TYPES = { tick: "checkbox", slider: "range" };
