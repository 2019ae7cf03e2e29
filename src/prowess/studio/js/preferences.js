// What a person likes, kept in this browser: nothing that concerns an agent or a skill.

import { redraw } from "./dom.js";

const KEY = "prowess.preferences";

// A browser may refuse storage: then it is as if nothing was liked.
function load() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

const kept = load();

export const preference = (name) => kept[name] ?? "";

export function prefer(name, value) {
  kept[name] = value;
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // It counts for this page all the same.
  }
  redraw();
}
