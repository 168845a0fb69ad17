// Shows the page of a session in a frame of its own, and carries messages between it and the kernel.

const DARK = "(prefers-color-scheme: dark)";

/** Return "dark" or "light": that of the notebook, or of the system where it does not say it. */
const themeAround = () => {
  const { jpThemeLight } = document.body.dataset;
  const isDark = jpThemeLight ? jpThemeLight === "false" : matchMedia(DARK).matches;
  return isDark ? "dark" : "light";
};

export default {
  render({ model, el }) {
    if (el.classList.contains("jupyter-widgets-disconnected")) return; // its kernel is gone
    el.classList.add("scalarviz-page");
    const frame = document.createElement("iframe");
    frame.title = model.get("title");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    frame.allow = "fullscreen; clipboard-write";
    const { width, height } = model.get("size");
    const size = `width: 100%; max-width: ${width}px; height: ${height}px`;
    frame.style.cssText = `${size}; border: 0; border-radius: 8px`;
    const name = String(crypto.getRandomValues(new Uint32Array(2)));
    const post = (header, buffers = []) =>
      frame.contentWindow?.postMessage({ scalarviz: header, buffers }, "*", buffers);
    const up = ({ source, data }) => {
      if (source === frame.contentWindow && data?.scalarviz) {
        model.send({ view: name, message: data.scalarviz });
      }
    };
    const down = ({ view: of, header }, buffers) => {
      if (of !== name) return;
      const copies = buffers.map(({ buffer, byteOffset: at, byteLength: length }) =>
        buffer.slice(at, at + length),
      );
      post(header, copies);
    };
    const lose = () => post({ closed: model.get("gone") }); // the kernel has ended, or begun anew
    const themes = new MutationObserver(() => post({ theme: themeAround() }));
    addEventListener("message", up);
    model.on("msg:custom", down);
    model.on("comm_live_update", lose);
    themes.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
    frame.srcdoc = model.get("html").replace("<html", `<html data-theme="${themeAround()}"`);
    el.append(frame);
    return () => {
      themes.disconnect();
      removeEventListener("message", up);
      model.off("msg:custom", down);
      model.off("comm_live_update", lose);
      model.send({ view: name, gone: true });
    };
  },
};
