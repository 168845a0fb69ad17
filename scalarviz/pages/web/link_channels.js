// Connections to Python: messages to the frame around the page, or a WebSocket.

const SOONEST = 500; // milliseconds until a lost socket is opened again, then twice as many each time
const LATEST = 10000;
const ALIGNED = 8; // bytes at which buffers begin

/** Base class of channels: the callbacks that a channel calls. */
class Channel {
  onopen = () => {};
  /** @type {(header: any, buffers: ArrayBuffer[]) => void} */
  onmessage = () => {};
  onclose = () => {};
}

/** A channel to the window that contains the frame of this page. */
export class FrameChannel extends Channel {
  /** @type {(name: string) => void} called with the new theme of the window, "dark" or "light" */
  ontheme = () => {};

  open() {
    addEventListener("message", ({ source, data }) => {
      if (source !== window.parent || !data?.scalarviz) return;
      if (data.scalarviz.theme) this.ontheme(data.scalarviz.theme);
      else this.onmessage(data.scalarviz, data.buffers ?? []);
    });
    this.onopen();
  }

  end() {}

  send(message) {
    const args = message.args && { args: { ...message.args } }; // arrays as lists, for JSON
    for (const [name, each] of Object.entries(args?.args ?? {}))
      if (ArrayBuffer.isView(each)) args.args[name] = Array.from(/** @type {any} */ (each));
    window.parent.postMessage({ scalarviz: { ...message, ...args } }, "*"); // no origin: frames of notebooks have none
  }
}

/** A channel over a WebSocket, which is opened again if the connection is lost.
 *
 * address  URL of the socket
 * token    token in the URL of the page, or ""
 */
export class SocketChannel extends Channel {
  constructor(address, token) {
    super();
    this.address = address;
    this.token = token;
    Object.assign(this, { pause: SOONEST, isOpen: false, ended: false });
  }

  open() {
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.isOpen = true;
      socket.send(JSON.stringify({ token: this.token }));
      this.onopen();
    };
    socket.onmessage = ({ data }) => {
      this.pause = SOONEST;
      const [header, buffers] = parted(data);
      this.onmessage(header, buffers);
    };
    socket.onclose = () => {
      this.isOpen = false;
      if (this.ended) return;
      this.onclose();
      setTimeout(() => this.open(), this.pause);
      this.pause = Math.min(2 * this.pause, LATEST);
    };
    this.socket = socket;
  }

  /** Close the socket permanently. */
  end() {
    this.ended = true;
    this.socket.close();
  }

  send(message) {
    if (this.isOpen) this.socket.send(frameOfCommand(message));
  }
}

/** Return a message as text; if an argument is an array, as bytes: the length of the header, the
 * header, which contains the name and type of the array, and its numbers.
 */
function frameOfCommand(message) {
  const isArray = ([, each]) => ArrayBuffer.isView(each);
  const [name, array] = Object.entries(message.args ?? {}).find(isArray) ?? [];
  if (!array) return JSON.stringify(message);
  const about = [name, array instanceof Uint32Array ? "u4" : "f8"];
  const args = { ...message.args, [name]: null };
  const head = new TextEncoder().encode(JSON.stringify({ ...message, args, array: about }));
  return new Blob([Uint32Array.of(head.length), head, array]);
}

/** Return the header of a binary message, and its buffers. */
export function parted(data) {
  const length = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  let at = upTo(4 + length);
  const buffers = (header.buffers ?? []).map((size) => {
    const start = at;
    at = upTo(at + size);
    return data.slice(start, start + size);
  });
  return [header, buffers];
}

/** Return the next aligned position for a buffer. */
function upTo(place) {
  return Math.ceil(place / ALIGNED) * ALIGNED;
}

/** Return the token in the URL of a page, after # or ?; "" if missing. */
export function tokenIn({ hash, search }) {
  const within = (words) => new URLSearchParams(words.slice(1)).get("token");
  return within(hash) ?? within(search) ?? "";
}
