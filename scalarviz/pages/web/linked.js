// Starts a page whose training is a session of Python, and builds it anew when that changes.

import { FrameChannel, SocketChannel, tokenIn } from "./channels.js";
import { byId, setWords } from "./dom.js";
import { followLink } from "./follow.js";
import { showTour } from "./guide.js";
import { LinkClient } from "./link_client.js";
import { Offers } from "./offers.js";
import { appOf, dress, pictureOf } from "./opening.js";
import { dataOfPage, failWith } from "./page_data.js";
import { setTexts } from "./texts.js";

/** Return the channel that the data of a page name. */
function channelOf({ channel, path }) {
  if (channel === "frame") return new FrameChannel();
  const address = new URL(path, location.href.split(/[?#]/)[0]);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return new SocketChannel(address.href, tokenIn(location));
}

/** Let a client speak through an app. */
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

/** Return an app of a new description in place of another, with what its user has chosen. */
function appAnew(app, markup, { spec, texts }) {
  const { client, picture, pinned, unit, channel, sizes, player } = app;
  const [isOpen, isWhole] = [!byId("sheet").hidden, byId("others").open];
  const focused = document.activeElement?.id;
  app.end();
  document.body.replaceChildren(...markup.cloneNode(true).childNodes);
  setTexts(texts);
  setWords(byId("title"), spec.page.title);
  setWords(byId("about"), spec.page.about);
  const next = appOf(spec, client, pictureOf(spec));
  next.picture.takeUp(picture);
  const { speed, other } = player;
  next.setUnit(unit);
  Object.assign(next.player, { speed, other, playing: player.playing, told: player.told });
  Object.assign(next, { channel, sizes });
  if (!(pinned?.row >= spec.say.rows)) next.pin(pinned);
  next.setSheet(isOpen, isWhole);
  if (focused) byId(focused)?.focus();
  return next;
}

async function startLinked() {
  const data = await dataOfPage();
  const { spec, link } = data;
  const markup = document.body.cloneNode(true); // before anything is written into it
  for (const script of /** @type {any} */ (markup).querySelectorAll("script")) script.remove();
  document.documentElement.classList.add("linked");
  dress(spec);
  const channel = channelOf(link);
  const client = new LinkClient(channel, { spec, version: link.version });
  let app = appOf(spec, client, pictureOf(spec));
  const { color, cubes, pin } = spec.page;
  Object.assign(app, { channel: color ?? app.channel, sizes: cubes ?? app.sizes });
  if (pin) app.pin(pin);
  if (!spec.page.theme && channel instanceof FrameChannel)
    channel.ontheme = (name) => app.setTheme(name);
  const offers = new Offers((name, value) => app.player.ask("control", { name, value }));
  client.onoffers = (list) => offers.show(list);
  client.ondescribed = (described) => {
    const focused = document.activeElement;
    app = appAnew(app, markup, described);
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
