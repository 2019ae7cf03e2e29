// Workshop: what agents learned and a person decides. An inbox, and one proposal that fills the
// page. What is applied is what was read: each decision carries the revision that is on the page.

import { agentId, agentName, follow, gateway, waiting } from "../app.js";
import { h, redraw } from "../dom.js";
import { Button, Chip, Empty, Filters, Loaded, PageHead } from "../parts/basics.js";
import { Decisions, saysWhat, whenDecided } from "../parts/decisions.js";
import { WindowedList } from "../parts/list.js";
import { Proposal, awaitTitle, decideShown, refresh } from "../parts/proposal.js";
import { PROOF } from "../parts/skill_proof.js";
import { WorkshopOff, isOff } from "../parts/workshop_switch.js";
import { go, place, viewLink } from "../place.js";
import { complain, toast } from "../toasts.js";
import { ago, count } from "../words.js";

const STATES = { pending: ["Pending", "accent"], applied: ["Applied", "ready"], rejected: ["Rejected", "slate"], quarantined: ["Quarantined", "danger"], stale: ["Stale", "needs"] };
const list = new WindowedList({ rowHeight: 52 });
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

const chosen = new Set();

function Size({ one }) {
  return h("span", { class: "row-size", title: "Lines that are added and removed" }, h("span", { class: "size-added" }, `+${one.added}`), " ", one.removed > 0 && h("span", { class: "size-removed" }, `−${one.removed}`));
}

function Row(one, attributes) {
  const canPick = ["pending", "quarantined"].includes(one.status);
  return h("div", { ...attributes, class: ["row", "row-proposal", place.query.at === one.id && "row-chosen"], "data-proposal": one.id, onclick: (event) => event.target.closest("a, input, label") || go({ proposal: one.id }) },
    canPick && h("input", { type: "checkbox", class: "row-pick", "aria-label": `Choose ${saysWhat(one)}`, checked: chosen.has(one.id), onchange: (event) => (event.currentTarget.checked ? chosen.add(one.id) : chosen.delete(one.id)) }),
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("a", { href: viewLink("workshop", { ...place.query, proposal: one.id }), title: one.title }, saysWhat(one)),
        one.findings > 0 && h(Chip, { tone: one.scanState === "clean" ? "needs" : "danger" }, count(one.findings, "finding")), one.late && h(Chip, { tone: "needs", title: "The skill changed since this was proposed" }, "Out of date"),
        PROOF[one.proof] && h(Chip, { tone: PROOF[one.proof][0], title: "What was shown of the skill as it is now" }, PROOF[one.proof][1])),
      h("p", { class: "row-about" }, h(Size, { one }), " ", one.quote ? h("q", { class: "row-quote" }, one.quote) : one.title, " ", h("span", { class: "muted" }, `· ${sourceWords(one.source)}`))),
    h("p", { class: "row-when meta" }, h("time", { datetime: one.createdAt, title: one.createdAt }, ago(one.createdAt))));
}

// Several at once are only ever rejected: what is applied is read one by one.
let isRejecting = false;

async function rejectChosen() {
  const picked = all().filter(({ id }) => chosen.has(id));
  isRejecting = true;
  redraw();
  let done = 0;
  try {
    for (const { id, revisionHash } of picked) {
      await gateway.request("skills.proposals.reject", { agentId: agentId(), proposalId: id, expectedRevisionHash: revisionHash });
      chosen.delete(id);
      done += 1;
    }
    toast(`${count(done, "proposal was", "proposals were")} rejected.`);
  } catch (error) {
    complain(error, `${done} of ${picked.length} were rejected.`);
  } finally {
    isRejecting = false;
    waiting.reload();
  }
}

function Bulk() {
  const picked = all().filter(({ id, status }) => chosen.has(id) && status === filter());
  if (!picked.length) return null;
  return h("div", { class: "bulk line", role: "group", "aria-label": "Chosen proposals" }, h("span", null, `${picked.length} chosen`), h(Button, { busy: isRejecting, onclick: rejectChosen }, `Reject ${count(picked.length, "proposal")}`), h(Button, { kind: "quiet", onclick: () => chosen.clear() }, "Choose none"));
}

function Inbox() {
  const rows = shown();
  const found = searched();
  const ready = waiting.state === "ready";
  const options = Object.entries(STATES).map(([id, [label]]) => ({ id, label, count: ready ? found.filter((one) => one.status === id).length : undefined }));
  return [
    h(PageHead, { title: "Workshop", scope: `What agents of ${agentName()}'s workspace learned, and what waits for your yes. Applying writes the skill for everyone who uses this workspace.` }),
    h("div", { class: "list-head" }, h(WorkshopOff), h(Filters, { label: "State", options, value: filter(), disabled: !ready, onchange: (id) => go({ filter: id === "pending" ? null : id }, { replace: true }) }), h(Bulk)),
    h("div", { class: "inbox" }, h(Loaded, { of: waiting, doing: "The proposals could not be read.", rows: 6, describe: () => (rows.length ? list.view({ items: byDay(rows), keyOf: (one) => one.id, row: Item, label: "Proposals" }) : h(Nothing)) }))];
}

function Nothing() {
  if (place.query.q) return h(Empty, { title: "No proposal matches.", action: h(Button, { onclick: () => go({ q: null }) }, "Show all") });
  if (filter() !== "pending") return h(Empty, { title: `Nothing is ${STATES[filter()][0].toLowerCase()}.` });
  if (isOff()) return h(Empty, { title: "Nothing waits for you." });
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

// By keyboard alone: j and k walk, and in a proposal they lead to the next one; a, r and e ask.
function step(by) {
  const rows = shown();
  const at = rows.findIndex(({ id }) => id === place.query.proposal);
  const next = rows[at + by];
  if (at >= 0 && next) go({ proposal: next.id }, { replace: true });
}

function openAnd(kind) {
  const id = place.query.proposal ?? place.query.at;
  if (!id) return;
  if (!place.query.proposal) go({ proposal: id, at: null });
  decideShown(id, kind);
}

function keys() {
  const decide = { a: () => openAnd("apply"), r: () => openAnd("reject"), e: () => openAnd("revise") };
  if (place.query.proposal) return { ...decide, j: () => step(1), k: () => step(-1), Escape: () => go({ proposal: null, at: place.query.proposal }) };
  return { ...decide, j: () => move(1), k: () => move(-1), Enter: () => place.query.at && go({ proposal: place.query.at, at: null }), open: () => place.query.at && go({ proposal: place.query.at, at: null }),
    Escape: () => (place.query.q ? go({ q: null }, { replace: true }) : place.query.at ? go({ at: null }, { replace: true }) : go({ filter: null }, { replace: true })) };
}

// After a decision the next one that waits opens by itself; after the last, what became of it is seen.
whenDecided(({ id, kind }) => {
  if (!["apply", "reject"].includes(kind) || place.view !== "workshop" || place.query.proposal !== id) return;
  const rows = all().filter((one) => one.status === "pending" || one.id === id).sort((one, other) => moment(other) - moment(one));
  const at = rows.findIndex((one) => one.id === id);
  const next = rows[at + 1] ?? rows[at - 1];
  if (at < 0 || !next) return;
  awaitTitle();
  go({ proposal: next.id });
});

for (const event of ["skills.proposal", "skills.changed", "connected"]) {
  follow(event, () => place.view === "workshop" && place.query.proposal && refresh());
}

export const workshop = { label: "Workshop", search: "Search proposals", describe, keys };
