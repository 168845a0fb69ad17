// What the theme leaves out: names and keys for screen readers, its choice of dark or light in the
// embedded page.
document.addEventListener("DOMContentLoaded", () => {
  const set = (found, name, value) => {
    for (const each of document.querySelectorAll(found)) each.setAttribute(name, value);
  };
  set(".caption[role=heading]", "aria-level", "2");
  set(".sidebar-drawer", "aria-label", "All pages");
  set(".toc-drawer", "aria-label", "On this page");
  set("[role=main]", "aria-label", document.title);
  for (const each of document.querySelectorAll("thead")) {
    if (!each.textContent.trim()) each.remove();
  }
  for (const each of document.querySelectorAll("th")) {
    if (!each.textContent.trim()) each.replaceWith(document.createElement("td"));
  }
  for (const each of document.querySelectorAll("pre")) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  }
  // Furo's button passes the theme of the system before "auto": the embedded page has it already.
  const living = document.querySelector(".living");
  const { dataset } = document.body;
  const chosen = () => living && dataset.theme !== "auto" && `&theme=${dataset.theme}`;
  if (chosen()) living.src += chosen();
  living?.addEventListener("load", () => living.contentWindow.location.replace(living.src));
  new MutationObserver(() => {
    const place = living?.src.replace(/#.*/, `#hide=controls${chosen()}`);
    if (chosen()) living.contentWindow.location.replace(place);
  }).observe(document.body, { attributeFilter: ["data-theme"] });
});
