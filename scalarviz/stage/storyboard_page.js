document.documentElement.classList.add("scripted");
addEventListener("DOMContentLoaded", () => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const [frames, steps] = [".frames figure", "nav button"].map(all);
  const parts = [".now", ".before", ".stage figcaption", "input", "nav"];
  const [picture, before, caption, slider, strip] = parts.map((part) => all(part)[0]);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const [back, play, forward] = all(".buttons button");
  const last = frames.length - 1;
  let [here, timer] = [-1, null];

  function show(place) {
    place = Math.min(Math.max(place, 0), last);
    if (place === here) return;
    const still = frames[place].querySelector("img");
    before.src = picture.src;
    picture.src = still.src;
    picture.alt = still.alt;
    for (const side of ["width", "height"]) {
      if (still.hasAttribute(side)) picture.setAttribute(side, still.getAttribute(side));
    }
    if (here >= 0 && !calm.matches) {
      picture.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 180, easing: "ease-out" });
    }
    caption.replaceChildren(...frames[place].querySelector("figcaption").cloneNode(true).children);
    if (here >= 0) steps[here].removeAttribute("aria-current");
    here = place;
    const step = steps[here];
    const [room, box] = [strip, step].map((each) => each.getBoundingClientRect());
    step.setAttribute("aria-current", "step");
    strip.scrollLeft += box.left + box.width / 2 - room.left - room.width / 2;
    slider.value = here;
    slider.setAttribute("aria-valuetext", step.textContent);
    back.setAttribute("aria-disabled", here === 0);
    forward.setAttribute("aria-disabled", here === last);
  }

  function tell() {
    play.className = timer === null ? "stopped" : "playing";
    play.setAttribute("aria-label", timer === null ? play.dataset.play : play.dataset.pause);
    caption.setAttribute("aria-live", timer === null ? "polite" : "off");
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    tell();
  }

  function toggle() {
    if (timer !== null) return stop();
    show(here === last ? 0 : here + 1);
    timer = setInterval(() => (here < last ? show(here + 1) : stop()), 1200);
    tell();
  }

  function go(place) {
    stop();
    show(place);
  }

  back.onclick = () => go(here - 1);
  forward.onclick = () => go(here + 1);
  play.onclick = toggle;
  slider.oninput = () => go(Number(slider.value));
  for (const [place, step] of steps.entries()) step.onclick = () => go(place);
  // After a mouse click, space plays or pauses.
  addEventListener("click", (event) => {
    if (event.detail > 0 && document.activeElement.matches("button")) document.activeElement.blur();
  });
  addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const keys = {
      ArrowLeft: () => go(here - 1),
      ArrowRight: () => go(here + 1),
      Home: () => go(0),
      End: () => go(last),
      " ": toggle,
    };
    const onButton = event.target.closest && event.target.closest("button");
    if (!(event.key in keys) || (event.key === " " && onButton)) return;
    event.preventDefault();
    keys[event.key]();
  });
  tell();
  show(0);
});
