// Light or dark: as the system says, until the person says otherwise.

import { redraw } from "./dom.js";

const KEY = "prowess.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = () => document.documentElement.dataset.theme;

// A browser may refuse storage: then the choice holds until the page is left.
let chosen = read();

function read() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(value) {
  chosen = value;
  try {
    if (value === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, value);
  } catch {
    // It is shown all the same.
  }
}

function show() {
  document.documentElement.dataset.theme = ["light", "dark"].includes(chosen) ? chosen : system.matches ? "dark" : "light";
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
  keep((next === "dark") === system.matches ? null : next);
  show();
}
