// Ctrl-K: one field that leads to every skill, view, action and setting. What was chosen is done at
// once; a setting opens in place.

import { agentId, agentList, config, gateway, selectAgent, skills } from "../app.js";
import { h, redraw, redrawNow } from "../dom.js";
import { go } from "../place.js";
import { prefer, preference } from "../preferences.js";
import { Resource } from "../resource.js";
import { switchTheme } from "../theme.js";
import { Dialog } from "./basics.js";
import { ProvideSetting } from "./provide.js";

const MOST_SKILLS = 8;
const MOST_SETTINGS = 6;
const schema = new Resource(() => gateway.request("config.schema"));

let isOpen = false;
let typed = "";
let at = 0;
let setting = null;
let views = [];

export const offerViews = (offered) => { views = offered; };

export function openPalette() {
  isOpen = true;
  typed = "";
  at = 0;
  setting = null;
  if (schema.state === "empty" && gateway.state === "live") schema.load({});
  redrawNow();
}

function close() {
  isOpen = false;
  redraw();
}

// Every setting with a path of its own and what it means.
function settingsOf(node, path = []) {
  return Object.entries(node?.properties ?? {}).flatMap(([name, inner]) => {
    const here = [...path, name];
    const own = inner.type !== "object" && inner.type !== "array" && inner.description ? [{ path: here.join("."), about: inner.description, standard: inner.default }] : [];
    return [...own, ...settingsOf(inner, here)];
  });
}

const valueAt = (path) => path.split(".").reduce((inside, key) => inside?.[key], config.value?.parsed);

const ACTIONS = [
  { label: "Switch the theme: light or dark", run: switchTheme },
  { label: "Compact rows, or tall ones", run: () => prefer("rows", preference("rows") === "low" ? "" : "low") },
  { label: "Messages that stay until they are closed, or go by themselves", run: () => prefer("messages", preference("messages") === "stay" ? "" : "stay") },
  { label: "Who may use which skill (agents beside skills)", run: () => go({ show: "agents" }, { view: "skills" }) },
  { label: "The map of skills by meaning", run: () => go({ show: "map" }, { view: "skills" }) },
  { label: "Diagnostics of every file", run: () => go({ report: "1" }, { view: "library" }) },
  { label: "Installed skills: sources, signers and updates", run: () => go({ report: "installed" }, { view: "library" }) },
  { label: "Removed skills", run: () => go({ removed: "1" }, { view: "setup" }) },
];

function fits(label, words) {
  const small = label.toLowerCase();
  return words.every((word) => small.includes(word));
}

function skillRows(words, wanted) {
  const found = [];
  for (const { name } of skills()) {
    if (!fits(name, words)) continue;
    found.push(name);
    // The best are those that begin so; a few more than are shown are enough to find them.
    if (found.length >= 40 * MOST_SKILLS) break;
  }
  found.sort((one, other) => Number(!one.toLowerCase().startsWith(wanted)) - Number(!other.toLowerCase().startsWith(wanted)));
  return found.slice(0, MOST_SKILLS).map((name) => ({ kind: "Skill", label: name, run: () => go({ skill: name }, { view: "skills" }) }));
}

function rows() {
  const wanted = typed.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter(Boolean);
  const found = views.filter(({ label }) => fits(label, words)).map(({ id, label }) => ({ kind: "View", label, run: () => go({}, { view: id }) }));
  const agents = agentList().filter(({ id, name }) => id !== agentId() && words.length && fits(`agent ${name || id}`, words)).map(({ id, name }) => ({ kind: "Agent", label: name || id, run: () => selectAgent(id) }));
  const actions = ACTIONS.filter(({ label }) => fits(label, words)).map((one) => ({ kind: "Action", ...one }));
  if (!wanted) return [...found, ...actions];
  const settings = settingsOf(schema.value?.schema).filter(({ path, about }) => fits(`${path} ${about}`, words)).slice(0, MOST_SETTINGS)
    .map((one) => ({ kind: "Setting", label: one.path, about: one.about, stays: true, run: () => { setting = one; } }));
  const message = wanted.includes(" ") ? [{ kind: "Router", label: `Route this message: ${typed.trim()}`, run: () => go({ m: typed.trim() }, { view: "router" }) }] : [];
  return [...skillRows(words, wanted), ...found, ...agents, ...actions, ...settings, ...message];
}

function choose(row) {
  if (!row) return;
  if (!row.stays) close();
  row.run();
}

// By what is typed now: the next key may come before the list is drawn.
function pressed(event) {
  if (event.isComposing) return;
  const found = rows();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) at = (at + step + found.length) % Math.max(1, found.length);
  else if (event.key === "Enter") choose(found[at]);
  else if (event.key === "Escape" && typed) typed = "";
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function Setting() {
  const now = valueAt(setting.path);
  return h("div", { class: "stack palette-setting" }, h("h2", null, h("code", { class: "break" }, setting.path)), h("p", { class: "muted" }, setting.about),
    h("p", { class: "meta" }, now === undefined ? `Not set${setting.standard === undefined ? "" : `; the default is ${JSON.stringify(setting.standard)}`}.` : `Now ${JSON.stringify(now)}.`, " It counts for every agent of this gateway."),
    h(ProvideSetting, { path: setting.path, always: true }));
}

export function Palette() {
  if (!isOpen) return null;
  const found = rows();
  at = Math.min(at, Math.max(0, found.length - 1));
  const idOf = (place_) => `palette-${place_}`;
  return h(Dialog, { key: "palette", label: "Go to anything", onclose: close, kind: "palette" }, setting ? h(Setting) : [
    h("input", {
      class: "input palette-input", type: "text", role: "combobox", "aria-label": "Search skills, views, actions and settings", "aria-expanded": "true", "aria-controls": "palette-list", "aria-activedescendant": found.length ? idOf(at) : undefined,
      placeholder: "Skill, view, action or setting", autocomplete: "off", spellcheck: "false", value: typed, oncreate: (node) => node.focus(),
      oninput: (event) => { typed = event.currentTarget.value; at = 0; }, onkeydown: pressed,
    }),
    h("ul", { class: "palette-list", id: "palette-list", role: "listbox", "aria-label": "Found" }, found.map((row, place_) => h("li", {
      key: `${row.kind} ${row.label}`, id: idOf(place_), role: "option", "aria-selected": String(place_ === at), class: ["palette-row", place_ === at && "palette-on"],
      onclick: () => choose(row), onmousemove: () => { at = place_; }, onupdate: (node) => place_ === at && node.scrollIntoView({ block: "nearest" }),
    }, h("span", { class: "palette-kind meta" }, row.kind), h("span", { class: "break" }, row.label), row.about && h("span", { class: "meta palette-about" }, row.about)))),
    !found.length && h("p", { class: "muted" }, "Nothing is called so."),
    h("p", { class: "meta palette-foot" }, h("kbd", null, "↑"), " ", h("kbd", null, "↓"), " choose · ", h("kbd", null, "Enter"), " go · ", h("kbd", null, "Esc"), " close"),
  ]);
}

export const isPaletteKey = (event) => (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
