// System setup: what skills need before any agent can use them. Everything here counts for all
// agents, so nothing here is a toggle: each step is a button in the Configure dialog.

import { agentId, agentList, agentName, comesLater, follow, gateway, report, skills } from "../app.js";
import { h } from "../dom.js";
import { Button, Chip, Dialog, Empty, Failed, Filters, GatewayBand, Loaded, PageHead, Skeleton, Tag } from "../parts/basics.js";
import { Configure, openAnew } from "../parts/configure.js";
import { Icon } from "../parts/icon.js";
import { PageList } from "../parts/page_list.js";
import { installOf, isRestoring, restore, whenTrashChanges } from "../parts/setup_actions.js";
import { go, place } from "../place.js";
import { Resource } from "../resource.js";
import { toast } from "../toasts.js";
import { ago, count, emojiOf, firstReason, matchesSearch, readiness, readinessChip, reasons, sentence, sourceLabel } from "../words.js";

const list = new PageList({ rowHeight: 60 });
const trash = new Resource(() => gateway.request("skills.trash"));
const FILTERS = [["all", "All"], ["ready", "Ready"], ["setup", "Needs setup"], ["unavailable", "Unavailable"], ["disabled", "Disabled"]];
const FIRST_ROWS = 5;
const MORE_ROWS = 50;

// Each skill stands once, under the first thing that it waits for.
const GROUPS = [
  { id: "keys", label: "Keys", icon: "key", about: "Typed in once, stored with the gateway, never shown again.", kinds: ["env"] },
  { id: "programs", label: "Programs", icon: "program", about: "Installed on the gateway's machine.", kinds: ["bin", "anyBin"] },
  { id: "settings", label: "Settings", icon: "setup", about: "Set in the gateway's config.", kinds: ["config"] },
  { id: "other", label: "Unclear", icon: "help", about: "The skill's file does not say it well enough.", kinds: [] },
  { id: "off", label: "Switched off", icon: "minus", about: "Off for every agent by choice.", kinds: ["disabled"] },
];

const shownRows = new Map();
let focused = "";

const keyOf = (skill) => `${skill.source}/${skill.skillKey}/${skill.name}`;
const filterOf = (skill) => (readiness(skill) === "draft" ? "unavailable" : readiness(skill));
const filter = () => (FILTERS.some(([id]) => id === place.query.filter) ? place.query.filter : "all");
const needs = () => skills().filter((skill) => ["setup", "disabled"].includes(readiness(skill)));

function groupOf(skill) {
  if (skill.disabled) return "off";
  const kinds = reasons(skill).map(({ kind }) => kind);
  return GROUPS.find((group) => group.kinds.some((kind) => kinds.includes(kind)))?.id ?? "other";
}

function found() {
  const searched = skills().filter((skill) => matchesSearch(skill, place.query.q ?? ""));
  return { searched, shown: filter() === "all" ? searched : searched.filter((skill) => filterOf(skill) === filter()) };
}

function open(skill) {
  openAnew();
  focused = keyOf(skill);
  go({ configure: skill.skillKey });
}

// A key may be shared; the skill that is called like it owns it.
function configured() {
  const key = place.query.configure;
  if (!key) return null;
  const matching = skills().filter((skill) => skill.skillKey === key);
  return matching.find(({ name }) => name === key) ?? matching[0] ?? null;
}

// Somebody was sent here for a skill that is not there, or it went away meanwhile.
let dropped = "";

function dropStranger() {
  const key = place.query.configure;
  if (!key || report.state !== "ready" || report.asked?.agentId !== agentId() || configured() || dropped === key) return;
  dropped = key;
  queueMicrotask(() => {
    dropped = "";
    if (place.query.configure !== key) return;
    go({ configure: null }, { replace: true });
    toast(`${agentName()} has no skill with the key “${key}”.`, { tone: "danger" });
  });
}

function close() {
  const skill = configured();
  go({ configure: null }, { replace: true });
  // Who was sent here from another page has nothing to go back to but the row.
  const later = () => document.activeElement === document.body && (buttonOf(skill) ?? document.getElementById("page-title"))?.focus();
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(later)));
}

const buttonOf = (skill) => skill && [...document.querySelectorAll("[data-configure]")].find((node) => node.dataset.configure === keyOf(skill));

function Reason({ skill }) {
  const { kinds } = GROUPS.find(({ id }) => id === groupOf(skill));
  const why = reasons(skill).sort((one, other) => kinds.includes(other.kind) - kinds.includes(one.kind));
  if (!why.length) return firstReason(skill);
  return why.map(({ words, names }, place_) => [place_ ? "; " : "", words, names.map((name, at) => [at ? ", " : " ", h("code", null, name)])]);
}

function QueueRow({ skill }) {
  const job = installOf(skill);
  return h("li", { class: "queue-row", key: keyOf(skill) },
    h("p", { class: "queue-name" }, emojiOf(skill) ? h("span", { "aria-hidden": "true" }, emojiOf(skill)) : null, skill.name),
    h("p", { class: "queue-reason" }, h(Reason, { skill }), job?.state === "running" && h(Chip, { tone: "accent" }, "Installing")),
    h(Button, { "aria-label": `Set up ${skill.name}`, onclick: () => open(skill) }, "Set up"));
}

function QueueGroup({ group, rows }) {
  const most = shownRows.get(group.id) ?? FIRST_ROWS;
  const rest = rows.length - most;
  return h("section", { class: "queue-group", key: group.id, "aria-labelledby": `queue-${group.id}` },
    h("div", { class: "queue-head" }, h("h3", { id: `queue-${group.id}` }, h(Icon, { name: group.icon }), group.label, h("span", { class: "queue-count" }, rows.length.toLocaleString("en"))), h("p", { class: "meta" }, group.about)),
    h("ul", { class: "queue-rows" }, rows.slice(0, most).map((skill) => h(QueueRow, { skill })),
      rest > 0 && h("li", { class: "queue-more", key: "more" }, h(Button, { kind: "quiet", onclick: () => shownRows.set(group.id, most + MORE_ROWS) }, `Show ${Math.min(rest, MORE_ROWS)} more of ${rest.toLocaleString("en")}`))));
}

function Queue() {
  const waits = needs();
  return h("section", { class: "queue", "aria-labelledby": "queue-title" },
    h("h2", { id: "queue-title" }, "Setup queue ", h("span", { class: "queue-count" }, waits.length.toLocaleString("en"))),
    waits.length
      ? GROUPS.map((group) => ({ group, rows: waits.filter((skill) => groupOf(skill) === group.id) })).filter(({ rows }) => rows.length).map((one) => h(QueueGroup, one))
      : h("p", { class: "queue-done" }, h(Icon, { name: "check" }), "Nothing waits for you."));
}

function Row(skill, attributes) {
  const state = readinessChip(skill);
  const isReady = readiness(skill) === "ready";
  return h("div", { ...attributes, class: "row setup-row", onclick: (event) => event.target.closest("a, button") || open(skill) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("span", { class: "setup-name" }, emojiOf(skill), skill.name), h(Chip, { tone: state.tone }, state.label), h(Tag, null, sourceLabel(skill))),
      h("p", { class: "row-about" }, isReady ? skill.description : reasons(skill).map(sentence).join("; ") || firstReason(skill))),
    h(Button, { "data-configure": keyOf(skill), "aria-label": `Configure ${skill.name}`, onclick: () => open(skill) }, "Configure"));
}

function Readiness() {
  const { searched, shown } = found();
  const options = FILTERS.map(([id, label]) => ({ id, label, count: (id === "all" ? searched : searched.filter((skill) => filterOf(skill) === id)).length }));
  return h("section", { class: "readiness", "aria-labelledby": "readiness-title" },
    h("div", { class: "readiness-head" }, h("h2", { id: "readiness-title" }, "Readiness of every skill"),
      h(Filters, { label: "Readiness", options, value: filter(), onchange: (id) => go({ filter: id === "all" ? null : id }, { replace: true }) })),
    shown.length
      ? list.view({ items: shown, keyOf, row: Row, label: "Readiness of every skill" })
      : h(Empty, { title: "No skill matches.", action: h(Button, { onclick: () => go({ q: null, filter: null }) }, "Show all skills") }));
}

function Body() {
  if (!skills().length) return h(Empty, { title: "There is nothing to set up yet.", command: "prowess load --all" }, "Put a folder with a SKILL.md below skills/ in the workspace, or copy the bundled ones.");
  return [h(Queue), h(Readiness)];
}

function Removed() {
  if (place.query.removed === undefined) return null;
  const leave = () => go({ removed: null }, { replace: true });
  return h(Dialog, { key: "removed", label: "Removed skills", wide: true, onclose: leave },
    h("div", { class: "dialog-head configure-head" }, h("div", null, h("h2", { class: "configure-title", tabindex: -1, autofocus: true }, "Removed skills"), h("p", { class: "muted" }, "They wait here for 30 days, then they are deleted. Restoring puts a folder back where it was, for every agent.")),
      h("button", { class: "icon-button", "aria-label": "Close", onclick: leave }, h(Icon, { name: "close" }))),
    h("div", { "data-home": "button,p" }, h(RemovedRows)));
}

function RemovedRows() {
  if (trash.state === "failed") return h(Failed, { error: trash.error, doing: "The trash could not be read.", retry: () => trash.reload() });
  if (trash.state !== "ready") return h(Skeleton, { rows: 2 });
  const { removed } = trash.value;
  if (!removed.length) return h("p", { class: "muted", tabindex: -1 }, "The trash is empty.");
  return h("ul", { class: "queue-rows" }, removed.map(({ id, name, path, removedAt }) => h("li", { class: "queue-row removed-row", key: id },
    h("div", null, h("p", { class: "queue-name" }, name), h("p", { class: "meta break" }, h("code", null, path), ` · removed ${ago(removedAt)}`)),
    h(Button, { icon: "undo", busy: isRestoring(id), "aria-label": `Restore ${name}`, onclick: () => restore(id, name) }, "Restore"))));
}

function scope() {
  if (report.state !== "ready") return "What skills need before any agent can use them.";
  const waiting = skills().filter((skill) => readiness(skill) === "setup").length;
  const off = skills().filter((skill) => readiness(skill) === "disabled").length;
  const parts = [`${waiting || "none"} of ${count(skills().length, "skill")} ${waiting === 1 ? "needs" : "need"} setup`, off && `${off} switched off`].filter(Boolean);
  const others = agentList().length > 1 ? ` Keys, programs and switches count for all agents; the list holds the skills that ${agentName()} finds.` : "";
  return `What skills need before any agent can use them · ${parts.join(", ")}.${others}`;
}

function describe() {
  dropStranger();
  const chosen = configured();
  const number = trash.value?.removed?.length ?? 0;
  return [h(GatewayBand), h("div", { class: "page-scroll setup-page", key: "page" },
    h(PageHead, { title: "System setup", scope: scope() }, h(Button, { icon: "undo", onclick: () => go({ removed: "1" }) }, "Removed skills", number > 0 && ` (${number})`)),
    h(Loaded, { of: report, doing: "The skills could not be read.", rows: 9, later: comesLater(), describe: () => h(Body) })),
  chosen && h(Configure, { skill: chosen, onclose: close }), h(Removed)];
}

function move(step) {
  const { shown } = found();
  const at = shown.findIndex((skill) => keyOf(skill) === focused);
  const next = shown[Math.min(shown.length - 1, Math.max(0, at + step))];
  if (!next) return;
  focused = keyOf(next);
  list.reveal(shown.indexOf(next));
  requestAnimationFrame(() => requestAnimationFrame(() => buttonOf(next)?.focus({ preventScroll: true })));
}

const keys = () => ({ j: () => move(1), k: () => move(-1) });

const look = () => place.view === "setup" && gateway.state === "live" && trash.load({});
follow("connected", look);
follow("skills.changed", look);
whenTrashChanges(look);

export const setup = { label: "Setup", search: "Search the readiness list", describe, keys, arrive: () => trash.state === "empty" && look() };
