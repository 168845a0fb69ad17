const nameControls = (box) => {
  for (const label of box.querySelectorAll("label.widget-label[title]")) {
    const control = label.parentElement;
    const name = label.title;
    const unseen = label.style.display === "none" && name && name !== "null";
    if (!unseen || control.title === name) continue;
    control.title = name;
    control.querySelector("input, [role=slider]")?.setAttribute("aria-label", name);
  }
};
/** Put words on the clipboard; return whether the browser allows it. */
const putOnClipboard = async (words) => {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const field = document.createElement("textarea");
    /** @type {any} */
    const before = document.activeElement;
    field.value = words;
    Object.assign(field.style, { position: "fixed", top: 0, opacity: 0 });
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    before?.focus({ preventScroll: true });
    return done;
  }
};
export default () => {
  const inner = framebuffer();
  return {
    initialize: inner.initialize,
    render(ctx) {
      const close = inner.render(ctx);
      const wrapper = ctx.el.querySelector(".renderview-wrapper");
      const picture = wrapper.querySelector("img");
      /** @type {any} */
      const keys = document.getElementById("rendercanvas-focus-element-container").lastElementChild;
      let leaving = false;
      picture.alt = PICTURE;
      picture.tabIndex = 0;
      picture.addEventListener("focus", () => {
        if (!leaving) keys.focus({ preventScroll: true });
        leaving = false;
      });
      keys.setAttribute("aria-label", picture.alt);
      keys.addEventListener("focus", () => wrapper.classList.add("scalarviz-keys"));
      keys.addEventListener("blur", () => wrapper.classList.remove("scalarviz-keys"));
      keys.addEventListener("keydown", (event) => {
        if (event.key === "Tab") {
          leaving = true;
          picture.focus({ preventScroll: true });
        } else if (!event.ctrlKey && !event.metaKey && !event.altKey) {
          event.preventDefault();
        }
      });
      const said = document.body.dataset.jpThemeLight;
      const dark = said ? said === "false" : matchMedia("(prefers-color-scheme: dark)").matches;
      ctx.model.send({ type: "theme", light: !dark });
      ctx.model.send({ type: "view" });
      const copy = async (message) => {
        if (message.type !== "copy" || document.hidden) return;
        if (!(await putOnClipboard(message.text))) ctx.model.send({ type: "not_copied" });
      };
      ctx.model.on("msg:custom", copy);
      let observer = null;
      let gone = false;
      const begin = () => {
        if (gone) return;
        if (!ctx.el.isConnected) return requestAnimationFrame(begin);
        const box = ctx.el.closest(".scalarviz");
        if (!box) return;
        observer = new MutationObserver(() => nameControls(box));
        observer.observe(box, { subtree: true, childList: true, attributeFilter: ["title"] });
        nameControls(box);
      };
      begin();
      return () => {
        gone = true;
        observer?.disconnect();
        ctx.model.off("msg:custom", copy);
        ctx.model.send({ type: "gone" });
        close();
      };
    },
  };
};
