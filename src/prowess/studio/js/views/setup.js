// System setup: what skills need before any agent can use them, by the thing that is missing: one key
// may unlock thirty of them. Everything here counts for all agents, so nothing here is a toggle.

import { agentId, agentList, agentName, comesLater, everything, follow, gateway, numbers, report, skills, wantDetails } from "../app.js";
import { h, onceDrawn, remembered } from "../dom.js";
import { Button, Chip, Dialog, Empty, Failed, Filters, GatewayBand, Loaded, PageHead, Skeleton, Tag } from "../parts/basics.js";
import { Configure, openAnew } from "../parts/configure.js";
import { Icon } from "../parts/icon.js";
import { ProvideKey, ProvideSetting } from "../parts/provide.js";
import { PageList } from "../parts/page_list.js";
import { install, installOf, isRestoring, restore, whenTrashChanges } from "../parts/setup_actions.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { toast } from "../toasts.js";
import { ago, count, FILTER_OF, filterFor, filterOptions, firstReason, installOption, matchesSearch, readiness, readinessChip, reasons, sentence, sourceLabel, tally } from "../words.js";

const list = new PageList({ rowHeight: 52 });
const trash = new Resource(() => gateway.request("skills.trash"));
const FIRST_ROWS = 8;
const MORE_ROWS = 50;
const FEW_NAMES = 3;

const GROUPS = [
  { id: "keys", label: "Keys", icon: "key", about: "Typed in once, stored with the gateway, never shown again.", kinds: ["env"] },
  { id: "programs", label: "Programs", icon: "program", about: "Installed on the gateway's machine.", kinds: ["bin", "anyBin"] },
  { id: "settings", label: "Settings", icon: "setup", about: "Set in the gateway's config.", kinds: ["config"] },
  { id: "other", label: "Unclear", icon: "help", about: "The skill's file does not say it well enough.", kinds: ["metadata"] },
];

// KEY_7 stands before KEY_35.
const byNumber = new Intl.Collator("en", { numeric: true });
const shownRows = new Map();
const opened = new Set();
let focused = "";

const keyOf = (skill) => `${skill.unread ?? skill.source}/${skill.skillKey}/${skill.name}`;
const filter = () => filterFor(place.query.filter);

// What is missing, with the skills that wait for it; those that wait for nothing else come first.
const thingsOf = remembered((all) => {
  const found = new Map();
  for (const skill of all) {
    if (readiness(skill) !== "setup") continue;
    const things = reasons(skill).flatMap(({ kind, names }) => (kind === "anyBin" ? [[kind, names.join(" or ")]] : names.length ? names.map((name) => [kind, name]) : [["metadata", skill.name]]));
    for (const [kind, name] of things.length ? things : [["metadata", skill.name]]) {
      const id = `${kind} ${name}`;
      if (!found.has(id)) found.set(id, { id, kind, name, skills: [], unlocked: 0 });
      const thing = found.get(id);
      if (things.length < 2) thing.skills.splice(thing.unlocked++, 0, skill);
      else thing.skills.push(skill);
    }
  }
  return [...found.values()].sort((one, other) => other.unlocked - one.unlocked || other.skills.length - one.skills.length || byNumber.compare(one.name, other.name));
});
const things = () => thingsOf(skills());
const numbersOf = remembered(tally);
const searched = remembered((all, words) => (words ? all.filter((skill) => matchesSearch(skill, words)) : all));
const shownOf = remembered((rows, wanted) => (wanted === "all" ? rows : rows.filter((skill) => FILTER_OF[readiness(skill)] === wanted)));
const found = () => searched(everything(), (place.query.q ?? "").trim().toLowerCase());
const shown = () => shownOf(found(), filter());

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
  onceDrawn(later);
}

const buttonOf = (skill) => skill && [...document.querySelectorAll("[data-configure]")].find((node) => node.dataset.configure === keyOf(skill));

function unlocks({ unlocked, skills: members }) {
  const more = members.length - unlocked;
  if (!unlocked) return `${count(more, "skill needs", "skills need")} it, and something else, too`;
  return `unlocks ${count(unlocked, "skill")}${more ? `; ${more} more need something else, too` : ""}`;
}

function Names({ thing }) {
  const isOpen = opened.has(thing.id);
  const some = isOpen ? thing.skills : thing.skills.slice(0, FEW_NAMES);
  const rest = thing.skills.length - some.length;
  return h("p", { class: "thing-names" }, some.map((skill, at) => [at ? ", " : "", h("button", { key: keyOf(skill), class: "link-button", type: "button", "aria-label": `Set up ${skill.name}`, onclick: () => open(skill) }, skill.name)]),
    rest > 0 && [" ", h("button", { class: "link-button muted", type: "button", onclick: () => opened.add(thing.id) }, `and ${rest.toLocaleString("en")} more`)]);
}

const hasInstaller = ({ kind }) => kind !== "brew" || (report.value?.installers ?? []).includes("brew");

// A program comes by the first way that a skill offers and that works here; others are not offered.
function Program({ thing }) {
  const ways = thing.skills.slice(0, 12);
  wantDetails(ways);
  const known = ways.map((skill) => ({ skill, option: installOption(skill) })).filter(({ option }) => option);
  const works = known.find(({ option }) => hasInstaller(option));
  if (works) {
    const job = installOf(works.skill);
    return h("div", { class: "line" }, h(Button, { busy: job?.state === "running", onclick: () => { open(works.skill); install(works.skill, works.option); } }, works.option.label));
  }
  const why = known.length ? "The way that its skill offers needs brew, and brew is not here. " : "";
  return h("p", { class: "meta" }, why, "Put it on the PATH of the gateway's machine; this page notices.");
}

const SOLVE = {
  env: ({ thing }) => h(ProvideKey, { thing }),
  bin: Program,
  anyBin: Program,
  config: ({ thing }) => h(ProvideSetting, { path: thing.name }),
  metadata: ({ thing }) => h("p", null, h("a", { href: viewLink("skills", { skill: thing.name }) }, "See what is wrong with its file")),
};
const NAMES = { metadata: "the requirements of " };

function Thing({ thing }) {
  const job = thing.skills.map(installOf).find((one) => one?.state === "running");
  return h("li", { class: "thing", key: thing.id, "data-thing": thing.name },
    h("div", { class: "thing-words" }, h("p", { class: "thing-name" }, NAMES[thing.kind] ?? "", h("code", { class: "break" }, thing.name), " ", h("span", { class: "thing-unlocks" }, unlocks(thing)), job && h(Chip, { tone: "accent" }, "Installing")), h(Names, { thing })),
    h("div", { class: "thing-solve" }, h(SOLVE[thing.kind], { thing })));
}

function QueueGroup({ group, rows }) {
  const most = shownRows.get(group.id) ?? FIRST_ROWS;
  const rest = rows.length - most;
  return h("section", { class: "queue-group", key: group.id, "aria-labelledby": `queue-${group.id}` },
    h("div", { class: "queue-head" }, h("h3", { id: `queue-${group.id}` }, h(Icon, { name: group.icon }), group.label, h("span", { class: "queue-count" }, rows.length.toLocaleString("en"))), h("p", { class: "meta" }, group.about)),
    h("ul", { class: "queue-rows" }, rows.slice(0, most).map((thing) => h(Thing, { thing })),
      rest > 0 && h("li", { class: "queue-more", key: "more" }, h(Button, { kind: "quiet", onclick: () => shownRows.set(group.id, most + MORE_ROWS) }, rest > MORE_ROWS ? `Show ${MORE_ROWS} more of ${rest.toLocaleString("en")}` : `Show ${rest} more`))));
}

function Queue() {
  const waits = things();
  const number = numbers().setup;
  return h("section", { class: "queue", "aria-labelledby": "queue-title" },
    h("h2", { id: "queue-title" }, "What is missing ", h("span", { class: "queue-count" }, number ? `${count(waits.length, "thing")}, for ${count(number, "skill")}` : "")),
    waits.length
      ? GROUPS.map((group) => ({ group, rows: waits.filter(({ kind }) => group.kinds.includes(kind)) })).filter(({ rows }) => rows.length).map((one) => h(QueueGroup, one))
      : h("p", { class: "queue-done" }, h(Icon, { name: "check" }), "Nothing waits for you."));
}

function Row(skill, attributes) {
  const state = readinessChip(skill);
  const isReady = readiness(skill) === "ready";
  return h("div", { ...attributes, class: "row setup-row", "data-setup": skill.name, "data-state": readiness(skill), onclick: (event) => event.target.closest("a, button") || skill.unread || open(skill) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("span", { class: "setup-name" }, skill.name), h(Chip, { tone: state.tone }, state.label), !skill.unread && h(Tag, null, sourceLabel(skill))),
      h("p", { class: "row-about" }, isReady ? skill.description ?? "" : reasons(skill).map(sentence).join("; ") || firstReason(skill))),
    ["blocked", "scanning", "broken", "cut"].includes(readiness(skill))
      ? h("a", { class: "button", "data-configure": keyOf(skill), href: viewLink("skills", { skill: skill.name }) }, skill.unread ? "See why" : "Findings", h("span", { class: "visually-hidden" }, ` of ${skill.name}`))
      : h(Button, { "data-configure": keyOf(skill), "aria-label": `Configure ${skill.name}`, onclick: () => open(skill) }, "Configure"));
}

function Readiness() {
  const rows = shown();
  return h("section", { class: "readiness", "aria-labelledby": "readiness-title" },
    h("div", { class: "readiness-head" }, h("h2", { id: "readiness-title" }, "Readiness of every skill"),
      h(Filters, { label: "Readiness", options: filterOptions(numbersOf(found()), filter()), value: filter(), onchange: (id) => go({ filter: id === "all" ? null : id }, { replace: true }) })),
    rows.length
      ? list.view({ items: rows, keyOf, row: Row, label: "Readiness of every skill", drawn: wantDetails })
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
  const { setup: waits, blocked, states } = numbers();
  const parts = [`${waits ? waits.toLocaleString("en") : "none"} of ${count(skills().length, "skill")} ${waits === 1 ? "needs" : "need"} setup`, blocked && `${blocked} blocked by the scanner`, states.disabled && `${states.disabled} switched off`].filter(Boolean);
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
  const rows = shown();
  const at = rows.findIndex((skill) => keyOf(skill) === focused);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  if (!next) return;
  focused = keyOf(next);
  list.reveal(rows.indexOf(next));
  onceDrawn(() => buttonOf(next)?.focus({ preventScroll: true }));
}

const undo = () => (place.query.q ? go({ q: null }, { replace: true }) : go({ filter: null }, { replace: true }));
const keys = () => ({ j: () => move(1), k: () => move(-1), Escape: undo });

const look = () => place.view === "setup" && gateway.state === "live" && trash.load({});
follow("connected", look);
follow("skills.changed", look);
whenTrashChanges(look);

export const setup = { label: "Setup", search: "Search the readiness list", describe, keys, arrive: () => trash.state === "empty" && look() };
