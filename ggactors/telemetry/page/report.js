"use strict";
(() => {
  const $ = (query) => Array.from(document.querySelectorAll(query));
  const items = $(".list .item");
  const find = document.getElementById("find");
  const opener = document.getElementById("open");
  const texts = new Map();
  for (const one of $(".tools, .keys")) one.hidden = false;

  const visible = () => items.filter((one) => !one.hasAttribute("data-hidden"));
  const textOf = (one) => {
    if (!texts.has(one)) texts.set(one, (one.firstElementChild.textContent + " " + one.dataset.state).toLowerCase());
    return texts.get(one);
  };

  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const one of items) one.toggleAttribute("data-hidden", !words.every((word) => textOf(one).includes(word)));
    for (const epic of $(".epic")) {
      const inside = epic.querySelectorAll(".item");
      const none = words.length > 0 && Array.from(inside).every((one) => one.hasAttribute("data-hidden"));
      epic.toggleAttribute("data-hidden", none);
    }
  }

  function openAll(wanted) {
    for (const one of visible()) one.open = wanted;
    opener.textContent = wanted ? "Close all" : "Open all";
  }

  function theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  function step(by) {
    const shown = visible();
    if (!shown.length) return;
    const at = shown.findIndex((one) => one.contains(document.activeElement));
    const next = shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.min(shown.length - 1, Math.max(0, at + by))];
    next.firstElementChild.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  // A link to an agent or an issue shows it: opened, and not filtered away.
  function reveal() {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target || !target.matches(".item")) return;
    if (target.hasAttribute("data-hidden")) { find.value = ""; filter(); }
    target.open = true;
    target.firstElementChild.focus();
    target.scrollIntoView({ block: "center" });
  }

  find.addEventListener("input", filter);
  opener.addEventListener("click", () => openAll(opener.textContent === "Open all"));
  document.getElementById("theme").addEventListener("click", theme);
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => { for (const one of items) { one.dataset.was = one.open ? "1" : ""; one.open = true; } });
  addEventListener("afterprint", () => { for (const one of items) one.open = one.dataset.was === "1"; });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === find) {
      if (event.key === "Escape") { find.value = ""; filter(); find.blur(); }
      if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); find.blur(); step(1); }
      return;
    }
    const parts = $("nav > a");
    const keys = {
      "/": () => { find.focus(); find.select(); },
      j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
      e: () => openAll(true), c: () => openAll(false), t: theme,
    };
    if (/^[1-9]$/.test(event.key) && parts[event.key - 1]) keys[event.key] = () => parts[event.key - 1].click();
    const arrow = event.key.startsWith("Arrow");
    if (!keys[event.key] || (arrow && !items.some((one) => one.firstElementChild === document.activeElement))) return;
    event.preventDefault();
    keys[event.key]();
  });
  reveal();
})();
