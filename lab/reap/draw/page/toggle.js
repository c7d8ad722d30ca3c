"use strict";
// The button for the theme. What is drawn by scripts listens for "reap-theme" and redraws.
const theme = (() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const current = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
  const toggle = document.getElementById("theme");
  const changed = () => {
    toggle.setAttribute("aria-pressed", String(current() === "dark"));
    toggle.querySelector("span").textContent = current() === "dark" ? "Light theme" : "Dark theme";
    window.dispatchEvent(new Event("reap-theme"));
  };
  toggle.addEventListener("click", () => {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("reap-theme", root.dataset.theme);
    } catch {
      // Not remembered: a page opened from a file may have no storage.
    }
    changed();
  });
  dark.addEventListener("change", changed);
  changed();
  toggle.hidden = false;
  return { current };
})();
