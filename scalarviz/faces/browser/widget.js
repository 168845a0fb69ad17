// Shows the page of a session in a frame of its own, and carries messages between it and the kernel.

export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.title = model.get("title");
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    frame.allow = "fullscreen; clipboard-write";
    const { width, height } = model.get("size");
    frame.style.cssText = `width: 100%; max-width: ${width}px; height: ${height}px; border: 0; border-radius: 8px`;
    const view = model.get("views") + 1;
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
      frame.contentWindow?.postMessage({ scalarviz: header, buffers: copies }, "*", copies);
    };
    const name = `${view}-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
    addEventListener("message", up);
    model.on("msg:custom", down);
    frame.srcdoc = model.get("html");
    el.append(frame);
    return () => {
      removeEventListener("message", up);
      model.off("msg:custom", down);
      model.send({ view: name, gone: true });
    };
  },
};
