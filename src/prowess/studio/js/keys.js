// The keyboard: keys for the whole page, and those of the view that is shown. Nothing is taken from
// someone who types in a field or is asked something by a dialog.

import { h, redraw } from "./dom.js";
import { Dialog } from "./parts/basics.js";
import { Icon } from "./parts/icon.js";
import { go } from "./place.js";

const VIEWS = { s: "skills", r: "router", t: "setup", l: "library", w: "workshop", a: "activity" };
const HELP = [
  ["/", "Search"],
  ["j  k", "Next, previous row"],
  ["Enter", "Open the row"],
  ["x", "Switch the skill for this agent"],
  ["Escape", "Leave the field, close what is open"],
  ["g s", "Skills"], ["g r", "Router"], ["g t", "System setup"], ["g l", "Library"], ["g w", "Workshop"], ["g a", "Activity"],
  ["?", "This list"],
];
let helpOpen = false;
let isGoing = -Infinity;

export const openHelp = () => { helpOpen = true; };

const isTyping = (node) => node?.closest?.("input, textarea, select, [contenteditable]");

// `viewKeys` returns the handlers of the view that is shown: {j, k, x, Enter, Escape}.
export function followKeys(viewKeys) {
  addEventListener("keydown", (event) => {
    // Keys that make up one character of another script are no shortcuts.
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (act(event, viewKeys())) {
      event.preventDefault();
      redraw();
    }
  });
}

function act(event, own) {
  const { key } = event;
  if (performance.now() - isGoing < 1500 && Object.hasOwn(VIEWS, key)) {
    isGoing = -Infinity;
    go({}, { view: VIEWS[key] });
    return true;
  }
  isGoing = key === "g" ? performance.now() : -Infinity;
  if (key === "g") return true;
  if (key === "?") return (openHelp(), true);
  if (key === "/") return focusSearch();
  // Enter on a button or link is theirs.
  if (key === "Enter" && event.target.closest("button, a")) return false;
  if (!own[key]) return false;
  own[key]();
  return true;
}

function focusSearch() {
  const field = document.querySelector("[data-search]");
  field?.focus();
  field?.select();
  return Boolean(field);
}

export function Help() {
  if (!helpOpen) return null;
  const close = () => { helpOpen = false; };
  return h(Dialog, { key: "help", label: "Keyboard", onclose: close },
    h("div", { class: "dialog-head" }, h("div", null, h("h2", null, "Keyboard")),
      h("button", { class: "icon-button", "aria-label": "Close", onclick: close }, h(Icon, { name: "close" }))),
    h("dl", { class: "keys" }, HELP.map(([keys, words]) => [
      h("dt", { key: `${keys} key` }, keys.split(" ").filter(Boolean).map((key) => [h("kbd", null, key), " "])), h("dd", { key: `${keys} words` }, words)])));
}
