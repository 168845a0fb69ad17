// Shows pages of sessions in frames, and carries messages between them and the kernel.

const DARK = "(prefers-color-scheme: dark)";
const THEMES = ["data-jp-theme-light", "data-theme", "data-vscode-theme-kind"];
const NARROWEST = 380; // pixels of a page beside others

/** Return "dark" or "light": the theme of the notebook, or of the system if not specified. */
const themeAround = () => {
  const { jpThemeLight, theme, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "false" ? "dark" : "light";
  const named = theme ?? vscodeThemeKind; // of marimo, of VS Code
  const isDark = named ? /dark|vscode-high-contrast$/.test(named) : matchMedia(DARK).matches;
  return isDark ? "dark" : "light";
};

/** Return the frame of a page. */
const frameOf = ([title, html], { width, height }, count) => {
  const frame = document.createElement("iframe");
  frame.title = title;
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.allow = "fullscreen; clipboard-write";
  const room = count > 1 ? `flex: 1 1 ${NARROWEST}px; min-width: 0` : `width: 100%`;
  const size = `${room}; max-width: ${width}px; height: ${height}px`;
  frame.style.cssText = `${size}; border: 0; border-radius: 8px`;
  // The frame inherits the policy of the notebook, which may allow scripts by a nonce alone.
  const { nonce = "" } = /** @type {any} */ (document.querySelector("script[nonce]") ?? {});
  frame.srcdoc = html
    .replace("<html", `<html data-theme="${themeAround()}"`)
    .replaceAll("<script", `<script nonce="${nonce}"`);
  return frame;
};

export default {
  render({ model, el }) {
    if (el.classList.contains("jupyter-widgets-disconnected")) return; // its kernel is gone
    el.classList.add("scalarviz-page");
    const size = model.get("size");
    const pages = model.get("pages");
    const frames = pages.map((page) => frameOf(page, size, pages.length));
    const name = String(crypto.getRandomValues(new Uint32Array(2)));
    const post = (frame, header, buffers = []) =>
      frame.contentWindow?.postMessage({ scalarviz: header, buffers }, "*", buffers);
    const up = ({ source, data }) => {
      const page = frames.findIndex((frame) => frame.contentWindow === source);
      if (page >= 0 && typeof data?.scalarviz === "object")
        model.send({ view: name, page, message: data.scalarviz });
    };
    const down = ({ view, page, header }, buffers) => {
      if (view && view !== name) return; // "": all of them
      const copies = buffers.map(({ buffer, byteOffset: at, byteLength: length }) =>
        buffer.slice(at, at + length),
      );
      post(frames[page], header, copies);
    };
    const tell = (header) => frames.forEach((frame) => post(frame, header));
    const lose = () => tell({ closed: model.get("gone") }); // the kernel has ended, or begun anew
    const themes = new MutationObserver(() => tell({ theme: themeAround() }));
    addEventListener("message", up);
    model.on("msg:custom", down);
    model.on("comm_live_update", lose);
    themes.observe(document.body, { attributeFilter: THEMES });
    const row = document.createElement("div"); // of its own: ipywidgets sets styles of `el`
    row.style.cssText = `display: flex; flex-wrap: wrap; gap: 8px; max-width: ${size.width}px`;
    row.append(...frames);
    el.append(row);
    return () => {
      themes.disconnect();
      removeEventListener("message", up);
      model.off("msg:custom", down);
      model.off("comm_live_update", lose);
      frames.forEach((_, page) => model.send({ view: name, page, gone: true }));
    };
  },
};
