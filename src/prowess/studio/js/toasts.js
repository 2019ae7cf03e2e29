// Short messages at the edge of the page: what happened, and a way back where there is one.

import { h, redraw } from "./dom.js";
import { Icon } from "./parts/icon.js";
import { preference } from "./preferences.js";

let shown = [];
let next = 1;
let isOpen = false;
const STAYS_MS = 6_000;
const MOST = 4;
// A gateway that refuses everything would fill the page.
const FEW = 3;
const MOST_KEPT = 100;

const isTrouble = (one) => one.tone === "danger";

// tone: "ok" or "danger". What went wrong stays until it is closed, however much follows it.
export function toast(message, { tone = "ok", action = null } = {}) {
  const one = { id: next++, message, tone, action };
  // The same again is no news; it is the newest, though.
  if (isTrouble(one)) shown = shown.filter((other) => !isTrouble(other) || other.message !== message);
  shown.push(one);
  makeRoom();
  // Who needs more time to read them keeps them until they are closed.
  if (tone === "ok" && preference("messages") !== "stay") setTimeout(() => dismiss(one), action ? STAYS_MS * 2 : STAYS_MS);
  redraw();
}

function makeRoom() {
  const fine = shown.filter((one) => !isTrouble(one));
  const trouble = shown.filter(isTrouble);
  const room = Math.max(1, MOST - Math.min(trouble.length, FEW));
  const goes = new Set([...fine.slice(0, -room), ...trouble.slice(0, -MOST_KEPT)]);
  shown = shown.filter((one) => !goes.has(one));
}

// `doing` says what did not happen; where nobody knows whether it did, only `what` it was about.
export function complain(error, doing, what = "") {
  const words = error.isUnknown ? [what && `${what}:`, error.message] : [doing, error.message];
  toast(words.filter(Boolean).join(" "), { tone: "danger" });
}

function dismiss(one) {
  shown = shown.filter((other) => other !== one);
  if (shown.filter(isTrouble).length <= FEW) isOpen = false;
  redraw();
}

function Toast({ one }) {
  return h("div", { class: ["toast", isTrouble(one) && "toast-danger"], key: one.id, role: isTrouble(one) ? "alert" : undefined },
    h(Icon, { name: isTrouble(one) ? "alert" : "check" }),
    h("p", null, one.message),
    one.action && h("button", { class: "button quiet", onclick: () => { one.action.run(); dismiss(one); } }, one.action.label),
    h("button", { class: "icon-button", "aria-label": "Close message", onclick: () => dismiss(one) }, h(Icon, { name: "close" })));
}

export function Toasts() {
  const trouble = shown.filter(isTrouble);
  const hidden = new Set(isOpen ? [] : trouble.slice(0, -FEW));
  return h("div", { class: "toasts", role: "status", "aria-live": "polite", "aria-label": "Messages" },
    hidden.size > 0 && h("div", { class: "toast toast-danger toast-more", key: "more" }, h("p", null, `and ${hidden.size} more`),
      h("button", { class: "button quiet", onclick: () => { isOpen = true; } }, "Show"),
      h("button", { class: "button quiet", onclick: () => { shown = shown.filter((one) => !isTrouble(one)); } }, "Close all")),
    shown.filter((one) => !hidden.has(one)).map((one) => h(Toast, { one })));
}
