"use strict";
// Runs before anything is drawn, so that a remembered theme does not flash the other one.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("reap-theme");
  } catch {
    // A page opened from a file may have no storage; the system's theme is used.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
