// The keyboard: keys for the whole page, and those of the view that is shown. Nothing is taken from
// someone who types in a field or is asked something by a dialog.

import { h, redraw } from "./dom.js";
import { Dialog } from "./parts/basics.js";
import { Icon } from "./parts/icon.js";
import { isPaletteKey, openPalette } from "./parts/palette.js";
import { go } from "./place.js";

const VIEWS = { h: "home", s: "skills", r: "router", t: "setup", l: "library", b: "hub", c: "connect", w: "workshop", a: "activity" };
const HELP = [
  ["Ctrl K", "Go to any skill, view, action or setting"],
  ["/", "Search; arrows and Enter go on from there"],
  ["j  k", "Next, previous row"],
  ["Enter", "Open the row"],
  ["x", "Switch the skill for this agent"],
  ["a  r  e", "In the workshop: apply, reject, edit"],
  ["Escape", "One step back: close, clear, unfilter"],
  ["g h", "Home"], ["g s", "Skills"], ["g r", "Router"], ["g t", "System setup"], ["g l", "Library"], ["g b", "Hub"], ["g c", "Connect"], ["g w", "Workshop"], ["g a", "Activity"],
  ["?", "This list"],
];
let helpOpen = false;
let isGoing = -Infinity;

export const openHelp = () => { helpOpen = true; };

const isTyping = (node) => node?.closest?.("input, textarea, select, [contenteditable]");

// `viewKeys` returns the handlers of the view that is shown: {j, k, x, Enter, Escape}.
export function followKeys(viewKeys) {
  addEventListener("keydown", (event) => {
    if (isPaletteKey(event) && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      openPalette();
      return;
    }
    // Keys that make up one character of another script are no shortcuts.
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (isTyping(event.target)) {
      if (search(event, viewKeys())) {
        event.preventDefault();
        redraw();
      }
      return;
    }
    if (act(event, viewKeys())) {
      event.preventDefault();
      redraw();
    }
  });
}

// In the field of the search the arrows walk through what was found, Enter opens it, and Escape clears
// what was typed before it leaves.
function search(event, own) {
  const { key, target } = event;
  if (key === "Escape" && !(target.matches("[type=search]") && target.value)) {
    target.blur();
    return true;
  }
  if (!target.matches("[type=search]")) return false;
  if (key === "Escape") go({ q: null }, { replace: true });
  else if (key === "ArrowDown" || key === "ArrowUp") (key === "ArrowDown" ? own.j : own.k)?.();
  else if (key === "Enter") (own.open ?? own.Enter)?.();
  else return false;
  return true;
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
