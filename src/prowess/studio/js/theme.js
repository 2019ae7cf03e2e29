// Light or dark: as the system says, until the person says otherwise.

import { redraw } from "./dom.js";

const KEY = "prowess.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = () => document.documentElement.dataset.theme;

function show() {
  document.documentElement.dataset.theme = localStorage.getItem(KEY) ?? (system.matches ? "dark" : "light");
}

export function followTheme() {
  show();
  system.addEventListener("change", () => {
    show();
    redraw();
  });
}

export function switchTheme() {
  const next = theme() === "dark" ? "light" : "dark";
  // The system's own choice needs no memory: it may change in the evening.
  if ((next === "dark") === system.matches) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  show();
}
