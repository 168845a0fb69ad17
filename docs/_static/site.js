// What the theme leaves out for keyboards and screen readers.
document.addEventListener("DOMContentLoaded", () => {
    const set = (found, name, value) => {
        for (const each of document.querySelectorAll(found)) each.setAttribute(name, value);
    };
    set(".caption[role=heading]", "aria-level", "2");
    set(".sidebar-drawer", "aria-label", "All pages");
    set(".toc-drawer", "aria-label", "On this page");
    for (const each of document.querySelectorAll("thead")) {
        if (!each.textContent.trim()) each.remove();
    }
    for (const each of document.querySelectorAll("th")) {
        if (!each.textContent.trim()) each.replaceWith(document.createElement("td"));
    }
    for (const each of document.querySelectorAll("pre")) {
        if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
    }
});
