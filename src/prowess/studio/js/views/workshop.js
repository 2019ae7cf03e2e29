// Workshop: what agents learned and a person decides. An inbox, and one proposal that fills the
// page. What is applied is what was read: each decision carries the revision that is on the page.

import { agentName, follow, waiting } from "../app.js";
import { h } from "../dom.js";
import { Button, Chip, Empty, Filters, Loaded, PageHead } from "../parts/basics.js";
import { Decisions } from "../parts/decisions.js";
import { WindowedList } from "../parts/list.js";
import { Proposal, refresh } from "../parts/proposal.js";
import { go, place, viewLink } from "../place.js";
import { ago } from "../words.js";

const STATES = { pending: ["Pending", "accent"], applied: ["Applied", "ready"], rejected: ["Rejected", "slate"], quarantined: ["Quarantined", "danger"], stale: ["Stale", "needs"] };
const list = new WindowedList({ rowHeight: 60 });
// Where a proposal came from, by the names that the gateway gives.
const SOURCES = { agent_end: "from a correction", reviewer: "from a review", tool: "suggested by the agent", experience: "from recorded work", cli: "from the terminal", studio: "from the studio" };

const stateChip = (status) => h(Chip, { tone: STATES[status]?.[1] ?? "slate" }, STATES[status]?.[0] ?? status);
const sourceWords = (source) => SOURCES[source] ?? source;

const all = () => waiting.value?.proposals ?? [];
const filter = () => (Object.hasOwn(STATES, place.query.filter ?? "") ? place.query.filter : "pending");

function searched() {
  const wanted = (place.query.q ?? "").trim().toLowerCase();
  return all().filter((one) => !wanted || [one.title, one.skillName, one.description].some((field) => (field ?? "").toLowerCase().includes(wanted)));
}

const moment = (one) => Date.parse(one.createdAt);
const shown = () => searched().filter((one) => one.status === filter()).sort((one, other) => moment(other) - moment(one));

function day(one) {
  const then = new Date(moment(one));
  const days = Math.round((new Date(new Date().toDateString()) - new Date(then.toDateString())) / 86_400_000);
  if (days <= 1) return days <= 0 ? "Today" : "Yesterday";
  return days < 7 ? then.toLocaleDateString("en", { weekday: "long" }) : "Earlier";
}

// Rows in the order of their days, each day below its name.
function byDay(rows) {
  const items = [];
  rows.forEach((one, place) => {
    const heading = day(one);
    if (!place || day(rows[place - 1]) !== heading) items.push({ heading, id: `day ${heading}` });
    items.push(one);
  });
  return items;
}

const Item = (one, attributes) => (one.heading ? h("div", { ...attributes, class: "day" }, h("h2", null, one.heading)) : Row(one, attributes));

function Row(one, attributes) {
  return h("div", { ...attributes, class: ["row", place.query.at === one.id && "row-chosen"], onclick: (event) => event.target.closest("a") || go({ proposal: one.id }) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("a", { href: viewLink("workshop", { ...place.query, proposal: one.id }) }, one.title),
        one.scanState !== "clean" && one.status !== "quarantined" && h(Chip, { tone: "danger" }, "scan: danger")),
      h("p", { class: "row-about" }, h("span", { class: "mono" }, one.skillName), " · ", one.kind === "create" ? "new skill" : "change", " · ", sourceWords(one.source))),
    h("p", { class: "row-when meta" }, h("time", { datetime: one.createdAt, title: one.createdAt }, ago(one.createdAt))));
}

function Inbox() {
  const rows = shown();
  const found = searched();
  const ready = waiting.state === "ready";
  const options = Object.entries(STATES).map(([id, [label]]) => ({ id, label, count: ready ? found.filter((one) => one.status === id).length : undefined }));
  return [
    h(PageHead, { title: "Workshop", scope: `What agents of ${agentName()}'s workspace learned, and what waits for your yes. Applying writes the skill for everyone who uses this workspace.` }),
    h("div", { class: "list-head" }, h(Filters, { label: "State", options, value: filter(), disabled: !ready, onchange: (id) => go({ filter: id === "pending" ? null : id }, { replace: true }) })),
    h("div", { class: "inbox" }, h(Loaded, { of: waiting, doing: "The proposals could not be read.", rows: 6, describe: () => (rows.length ? list.view({ items: byDay(rows), keyOf: (one) => one.id, row: Item, label: "Proposals" }) : h(Nothing)) }))];
}

function Nothing() {
  if (place.query.q) return h(Empty, { title: "No proposal matches.", action: h(Button, { onclick: () => go({ q: null }) }, "Show all") });
  if (filter() !== "pending") return h(Empty, { title: `Nothing is ${STATES[filter()][0].toLowerCase()}.` });
  return h(Empty, { title: "Nothing waits for you.", command: "prowess workshop capture --help" }, all().length ? "What agents learn next comes up here by itself." : "When you correct an agent, what it learned comes up here. You can also hand over a transcript.");
}

function describe() {
  const id = place.query.proposal;
  return id ? h("div", { class: "page-scroll", key: id }, h(Proposal, { id, stateChip, sourceWords }), h(Decisions)) : [h(Inbox), h(Decisions)];
}

function move(step) {
  const rows = shown();
  const at = rows.findIndex((one) => one.id === place.query.at);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
  if (!next) return;
  go({ at: next.id }, { replace: true });
  list.reveal(byDay(rows).findIndex((one) => one.id === next.id));
}

function keys() {
  if (place.query.proposal) return { Escape: () => go({ proposal: null }) };
  return { j: () => move(1), k: () => move(-1), Enter: () => place.query.at && go({ proposal: place.query.at, at: null }) };
}

for (const event of ["skills.proposal", "skills.changed", "connected"]) {
  follow(event, () => place.view === "workshop" && place.query.proposal && refresh());
}

export const workshop = { label: "Workshop", search: "Search proposals", describe, keys };
