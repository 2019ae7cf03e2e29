// The small parts that every view is set from: chip, toggle, filters, states of a page, dialog.

import { h } from "../dom.js";
import { complain, toast } from "../toasts.js";
import { Icon } from "./icon.js";

const SHAPES = { ready: "●", needs: "▲", slate: "■", danger: "◆", accent: "○" };

// A state with its reason: the shape and the word carry it, the colour only helps.
export function Chip({ tone = "slate", children, title }) {
  return h("span", { class: `chip chip-${tone}`, title, tabindex: title ? 0 : undefined },
    h("span", { class: "chip-shape", "aria-hidden": "true" }, SHAPES[tone] ?? "●"), children);
}

export const Tag = ({ children, title }) => h("span", { class: "tag", title }, children);

// Only for "this agent may use it".
export function Toggle({ label, on, disabled, busy, onchange, key }) {
  return h("button", {
    key, class: ["toggle", on && "toggle-on"], type: "button", role: "switch", "aria-checked": String(Boolean(on)), "aria-label": label,
    // Disabled it would lose the focus, and who uses the keyboard their place.
    "aria-busy": busy ? "true" : undefined, "aria-disabled": busy && !disabled ? "true" : undefined, disabled,
    onclick: (event) => { event.stopPropagation(); if (!busy) onchange(!on); },
  }, h("span", { class: "toggle-knob", "aria-hidden": "true" }));
}

// Filters with counts: [{id, label, count}].
export function Filters({ label, options, value, onchange, disabled }) {
  return h("div", { class: "filters", role: "group", "aria-label": label },
    options.map((option) => h("button", {
      key: option.id, type: "button", class: ["filter", option.id === value && "filter-on"], "aria-pressed": String(option.id === value),
      disabled, onclick: () => onchange(option.id),
    }, option.label, " ", h("span", { class: "filter-count" }, option.count === undefined ? "–" : option.count.toLocaleString("en")))));
}

// One of a few, said by the choice itself: [[value, label]].
export function Choice({ label, value, options, onchange }) {
  return h("select", { class: ["choice", value && "choice-set"], "aria-label": label, value, onchange: (event) => onchange(event.currentTarget.value) },
    options.map(([id, words]) => h("option", { key: id, value: id }, words)));
}

// A busy button does nothing and keeps the focus: one that is disabled would lose it.
export function Button({ children, kind = "", icon, busy, disabled, onclick, type = "button", ...rest }) {
  const clicked = busy ? (event) => event.preventDefault() : onclick;
  return h("button", { ...rest, type, class: ["button", kind], disabled, "aria-disabled": busy ? "true" : undefined, "aria-busy": busy ? "true" : undefined, onclick: clicked },
    icon && h(Icon, { name: icon }), busy ? "Working…" : children);
}

// `title` and the sentence below say in words whom the page speaks about.
export function PageHead({ title, scope, children }) {
  return h("header", { class: "page-head" },
    h("div", null, h("h1", { tabindex: -1, id: "page-title" }, title), h("p", { class: "scope" }, scope)),
    children && h("div", { class: "page-actions" }, children));
}

export const GatewayBand = ({ words = "Changes here affect every agent of this gateway." }) =>
  h("p", { class: "band" }, h(Icon, { name: "alert" }), words);

export function Skeleton({ rows = 8, label = "Loading" }) {
  return h("div", { class: "skeleton", role: "status", "aria-label": label },
    Array.from({ length: rows }, (_, place) => h("div", { class: "skeleton-row", key: place, "aria-hidden": "true" },
      h("span", { class: "bone bone-name" }), h("span", { class: "bone bone-text" }))));
}

// One sentence, one action, one command to copy.
export function Empty({ title, children, command, action }) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), children && h("p", null, children), action,
    command && h(Command, { text: command }));
}

export function Command({ text }) {
  return h("div", { class: "command" }, h("code", null, text),
    h("button", { class: "icon-button", type: "button", "aria-label": `Copy: ${text}`, onclick: () => copy(text, "Copied.") }, h(Icon, { name: "copy" })));
}

// A browser may refuse, and over plain http to another machine it has no clipboard at all.
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    complain(new Error("This browser does not let the page write to the clipboard: mark the text and copy it by hand."), "Nothing was copied.");
  }
}

export function Failed({ error, doing, retry }) {
  return h("div", { class: "failed", role: "alert" }, h(Icon, { name: "alert" }),
    h("div", null, h("p", { class: "failed-title" }, doing), h("p", null, error.message)),
    retry && h(Button, { onclick: retry }, "Try again"));
}

// Skeleton, error or content of a resource; what is shown stays while it is fetched again. `later`
// is said in place of the skeleton, where nothing can come at the moment.
export function Loaded({ of, doing, rows, later, children, describe }) {
  if (of.state !== "ready" && later) return h("p", { class: "later", role: "status" }, h(Icon, { name: "clock" }), later);
  if (of.state === "failed") return h(Failed, { error: of.error, doing, retry: () => of.reload() });
  if (of.state !== "ready") return h(Skeleton, { rows });
  return describe ? describe(of.value) : children;
}

// A native dialog: it keeps the focus inside, closes on Escape and gives the focus back.
export function Dialog({ label, onclose, children, wide, kind, key }) {
  return h("dialog", {
    key, class: ["dialog", wide && "dialog-wide", kind && `dialog-${kind}`], "aria-label": label,
    oncreate: open,
    onremove: (node) => node.open && node.close(),
    oncancel: (event) => { event.preventDefault(); onclose(); },
    onclick: (event) => event.target === event.currentTarget && pressedOn === event.target && onclose(),
  }, h("div", { class: "dialog-inside" }, children));
}

// Marking text may end beside the dialog: only what was also pressed there closes it.
let pressedOn = null;
const DOUBLE_MS = 500;

function open(node) {
  const opened = performance.now();
  node.showModal();
  node.addEventListener("pointerdown", (event) => { pressedOn = event.target; }, true);
  // The second half of a double click on what opened it is no answer to what it asks.
  node.addEventListener("click", (event) => {
    if (event.detail < 2 || performance.now() - opened > DOUBLE_MS) return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
}

// A link out: only to the web, and only where it says so itself.
export function WebLink({ href, children }) {
  return /^https?:\/\//i.test(href ?? "") ? h("a", { href, title: href, target: "_blank", rel: "noopener noreferrer" }, children) : children;
}
