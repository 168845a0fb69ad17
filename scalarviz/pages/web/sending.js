// Sends the answers of a learner to the server of a class.

import { tokenIn } from "./channels.js";
import { text } from "./texts.js";

const LONGEST_SENDING = 20000; // milliseconds

/** Send the record of a learner; throw an Error whose message says in a sentence why it was not kept. */
export async function sendAnswers(record) {
  const lost = new Error(text("page.sending.lost"));
  if (!location.origin.startsWith("http")) throw lost; // a page that was saved as a file
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}/socket`);
  const late = setTimeout(() => socket.close(), LONGEST_SENDING);
  const said = await new Promise((resolve) => {
    socket.onopen = () => socket.send(JSON.stringify({ token: tokenIn(location), record }));
    socket.onmessage = ({ data }) => resolve(JSON.parse(data));
    socket.onclose = () => resolve({ error: lost.message });
  });
  clearTimeout(late);
  socket.close();
  if (said.error) throw new Error(said.error);
}
