// One proposal as a reviewer reads it: why, from which words, what would change at which line, what
// the scanner says about it, and what else is like it.

import { agentId, gateway } from "../app.js";
import { h } from "../dom.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { ago, count } from "../words.js";
import { Button, Chip, Loaded, Tag } from "./basics.js";
import { ask, isDeciding, isRenewing, renew, saysWhat } from "./decisions.js";
import { Diff, Finding } from "./diff.js";
import { Icon } from "./icon.js";
import { Markdown } from "./markdown.js";
import { wordsLabel } from "./revision.js";

const inspected = new Resource(({ agent, id }) => gateway.request("skills.proposals.inspect", { agentId: agent, proposalId: id }));
const events = new Resource(({ agent, id }) => gateway.request("skills.proposals.events.list", { agentId: agent, proposalId: id }));
const opened = new Map();
const NONE = [];
const MOST_FINDINGS = 50;
// The revision that the person has seen; another one has to be looked at before it can be applied.
let seen = { id: "", revision: "" };

function fetchFor(id) {
  const asked = { agent: agentId(), id };
  if (gateway.state !== "live" || !agentId()) return;
  if (inspected.asked?.id === id && inspected.asked?.agent === asked.agent) return;
  seen = { id, revision: "" };
  opened.clear();
  inspected.load(asked);
  events.load(asked);
}

// The next one opened by itself: once it is there, its title has the focus and is read out.
let isAwaited = false;
export const awaitTitle = () => { isAwaited = true; };

function takeFocus() {
  if (isAwaited && document.activeElement === document.body) document.getElementById("page-title")?.focus();
  isAwaited = false;
}

// What the keyboard asked for, done as soon as the proposal is there to be seen.
let asking = null;

export function decideShown(id, kind) {
  asking = { id, kind };
}

// The button says whether it can be done, and is what the keyboard presses.
function pressAsked() {
  if (!asking || inspected.state !== "ready" || inspected.value.record.id !== asking.id) return;
  document.querySelector(`[data-decide="${asking.kind}"]:not(:disabled)`)?.click();
  asking = null;
}

export function refresh() {
  inspected.reload();
  events.reload();
}

// A proposal as somebody else asked for it: the page need not wait for the news about it.
function looked(answer) {
  if (inspected.asked?.id === answer.record?.id && inspected.state === "ready" && answer.revisionHash) inspected.value = answer;
  refresh();
}

// What came of an own decision was asked for, and so it counts as seen.
function took(answer) {
  if (answer.record?.id === seen.id && answer.revisionHash) seen = { id: seen.id, revision: answer.revisionHash };
  looked(answer);
}

function unfolded(path) {
  if (!opened.has(path)) opened.set(path, new Set());
  return opened.get(path);
}

export function Proposal({ id, stateChip, sourceWords }) {
  fetchFor(id);
  const back = h("p", { class: "proposal-back" }, h("a", { href: viewLink("workshop", { ...place.query, proposal: null, show: null }) }, h(Icon, { name: "back" }), "All proposals"));
  return [back, inspected.state !== "ready" && h("h1", { id: "page-title", tabindex: -1, class: "visually-hidden" }, "Proposal"), h(Loaded, { of: inspected, doing: "The proposal could not be read.", rows: 6, describe: (value) => h(Review, { value, stateChip, sourceWords }) })];
}

function Review({ value, stateChip, sourceWords }) {
  const { record } = value;
  if (!seen.revision) seen = { id: record.id, revision: value.revisionHash };
  const isNewer = seen.id === record.id && seen.revision !== value.revisionHash && !isDeciding(record.id);
  const findings = record.scan?.findings ?? NONE;
  return h("article", { class: "proposal", onfocusin: (event) => { held = event.target; }, oncreate: () => { takeFocus(); pressAsked(); }, onupdate: () => { pressAsked(); keepFocus(); } },
    h("header", { class: "proposal-head" },
      h("div", null, h("h1", { id: "page-title", tabindex: -1, class: "break", title: record.title }, saysWhat(record)),
        h("p", { class: "line" }, stateChip(record.status), record.status === "pending" && value.targetChanged && h(Chip, { tone: "needs" }, "Out of date"), h(Tag, null, record.kind === "create" ? "new skill" : "change of", " "), h("code", null, record.skillName), h(Tag, null, sourceWords(record.source)), h(Tag, { title: record.createdAt }, ago(record.createdAt)))),
      h(Actions, { value, isNewer })),
    isNewer && record.status === "pending" && h("div", { class: "note note-needs line", role: "alert" }, h("p", null, "The proposal changed while you were reading. This is the new text."), h(Button, { onclick: () => { seen = { id: record.id, revision: value.revisionHash }; } }, "I have read it")),
    record.status === "pending" && h(Hindrance, { value, isNewer }),
    HINTS[record.status] && h("p", { class: "note" }, HINTS[record.status]),
    record.status === "applied" && value.rollbackProblem && h("p", { class: "note" }, `It cannot be rolled back: ${value.rollbackProblem}.`),
    record.statusReason && h("p", { class: ["note", record.status === "quarantined" && "note-danger"] }, `${REASONS[record.status] ?? "Said about it"}: ${record.statusReason}`),
    h("section", { class: "section" }, h("h2", null, "Why"), h("p", { class: "break" }, record.reason || "No reason was given."),
      record.quotes?.length > 0 && h("ul", { class: "quotes" }, record.quotes.map((one) => h("li", { key: `${one.message} ${one.quote}` }, h("blockquote", null, one.quote), h("p", { class: "meta" }, `${one.role}${one.message === undefined ? "" : `, message ${one.message}`}`)))),
      record.origin?.sessionKey && h("p", { class: "meta" }, "Session ", h("code", null, record.origin.sessionKey))),
    h("section", { class: "section" }, h("h2", null, "What the scanner says"), findings.length === 0 ? h("p", { class: "line" }, h(Chip, { tone: "ready" }, "Nothing found"), h("span", { class: "muted" }, "in the text that would be written")) : [h("p", { class: "muted" }, `${count(findings.length, "finding")}, marked at ${findings.length === 1 ? "its line" : "their lines"} below.${findings.length > MOST_FINDINGS ? ` The first ${MOST_FINDINGS}:` : ""}`), findings.slice(0, MOST_FINDINGS).map((finding) => h("div", { class: "finding-line", key: `${finding.file} ${finding.line} ${finding.ruleId}` }, h("code", null, `${finding.file}:${finding.line}`), h(Finding, { finding })))]),
    record.similar?.length > 0 && h("section", { class: "section" }, h("h2", null, "Skills that are much like it"), h("ul", { class: "plain-list" }, record.similar.map((one) => h("li", { key: one.skillName }, h("a", { href: viewLink("skills", { skill: one.skillName }) }, one.skillName), h("span", { class: "muted" }, ` ${Math.round(one.score * 100)} % alike`))))),
    h(Changes, { value, findings }),
    h(Timeline));
}

// The element that had the focus last: where it goes with what happened, the title takes over.
let held = null;

function keepFocus() {
  if (held && !held.isConnected && document.activeElement === document.body) document.getElementById("page-title")?.focus();
  if (held && !held.isConnected) held = null;
}

const REASONS = { quarantined: "Quarantined", rejected: "Rejected", applied: "Applied", stale: "Why it is stale" };
const ended = (words) => `${words}${/[.!?]$/.test(words) ? "" : "."}`;
const asSentence = (words) => ended(`${words.charAt(0).toUpperCase()}${words.slice(1)}`);

// Why a pending proposal cannot be applied as it is, and what to do about it.
function Hindrance({ value, isNewer }) {
  const { record } = value;
  if (!value.applyProblem) return null;
  // What keeps it from both is not the skill.
  if (!value.targetChanged || value.updateProblem === value.applyProblem) return h("p", { class: "note note-needs" }, asSentence(value.applyProblem));
  const about = { record, revision: value.revisionHash, done: took };
  const button = (label) => h(Button, { busy: isRenewing(record.id), disabled: isNewer, onclick: () => renew(about) }, label);
  if (value.canUpdate) {
    return h("div", { class: "note note-needs line" }, h("p", null, `${record.skillName} changed since this was proposed. What you see is the same change in its text of now: bring the proposal up to date, and you can apply it.`), button("Bring up to date"));
  }
  return h("div", { class: "note note-needs line" }, h("p", null, `${record.skillName} changed since this was proposed, and the change no longer fits: ${ended(value.updateProblem)} Reject it, or set it aside and ask for it anew.`), button("Set aside"));
}

function headingOf({ status, kind }) {
  if (status === "applied") return kind === "create" ? "What was written" : "What was changed";
  return kind === "create" ? "What would be written" : "What would change";
}

const HINTS = {
  stale: "The skill changed after this was proposed, so it no longer fits. Nothing is lost: the same lesson may come again, and then against the text of now.",
  rejected: "Nothing was written, and the same lesson does not come again.",
};

// The words alone, where the text that they were meant for is gone.
function Proposed({ value: { editable, supportFiles } }) {
  const files = (supportFiles ?? []).map(({ path, content }) => ({ path, label: path, before: "", after: content }));
  const words = editable ? [{ path: "words", label: wordsLabel(editable), before: editable.oldText ?? "", after: editable.content }] : NONE;
  return h("section", { class: "section" }, h("h2", null, "What was proposed"),
    [...words, ...files].map(({ path, label, before, after }) => h("div", { key: path, class: "diff-file" }, h("p", { class: "diff-path" }, label), h(Diff, { before, after, path, label, findings: NONE, opened: unfolded(path) }))));
}

function Changes({ value, findings }) {
  const { record } = value;
  if (value.contentFits === false) return h(Proposed, { value });
  const isRead = place.query.show === "text";
  const files = [{ path: "SKILL.md", before: record.status === "applied" ? value.previousContent ?? "" : value.currentContent, after: value.content }, ...(value.supportFiles ?? []).map(({ path, content }) => ({ path, before: (value.currentSupportFiles ?? []).find((one) => one.path === path)?.content ?? "", after: content }))];
  return h("section", { class: "section" },
    h("div", { class: "line" }, h("h2", null, headingOf(record)),
      h("div", { class: "filters", role: "group", "aria-label": "How to show it" }, [["", "Lines"], ["text", "As the agent reads it"]].map(([id, label]) => h("button", { key: label, type: "button", class: ["filter", (id === "text") === isRead && "filter-on"], "aria-pressed": String((id === "text") === isRead), onclick: () => go({ show: id }, { replace: true }) }, label)))),
    isRead ? h("div", { class: "proposal-text" }, h(Markdown, { level: 3, text: value.content.replace(/^---\n[\s\S]*?\n---\n/, "") }))
      : [value.deletedFiles?.length > 0 && h("p", { class: "note note-needs" }, `Files that would be removed: ${value.deletedFiles.join(", ")}`), files.map(({ path, before, after }) => h("div", { key: path, class: "diff-file" }, h("p", { class: "diff-path mono" }, h(Icon, { name: "file" }), path, before ? "" : " (new)"), before === after ? h("p", { class: "muted" }, "The skill already says this.") : h(Diff, { before, after, path, label: `Changes of ${path}`, findings, opened: unfolded(path) })))]);
}

function Actions({ value, isNewer }) {
  const { record } = value;
  const about = { record, revision: value.revisionHash, editable: value.editable, done: took, looked };
  if (record.status === "applied") return h("div", { class: "page-actions" }, h(Button, { icon: "undo", disabled: value.canRollBack === false, title: value.rollbackProblem || undefined, onclick: () => ask("rollback", about) }, "Roll back…"));
  if (record.status === "quarantined") return h("div", { class: "page-actions" }, h(Button, { "data-decide": "reject", onclick: () => ask("reject", about) }, "Reject…"));
  if (record.status !== "pending") return null;
  // What replaces a text that is gone has no place, whatever its words.
  const isHomeless = value.contentFits === false && ["phrase", "whole"].includes(value.editable?.part);
  return h("div", { class: "page-actions" },
    h(Button, { "data-decide": "apply", kind: "primary", icon: "check", disabled: isNewer || value.canApply === false, title: value.applyProblem || undefined, onclick: () => ask("apply", about) }, record.kind === "create" ? `Create ${record.skillName}` : `Apply to ${record.skillName}`),
    value.editable && !isHomeless && h(Button, { "data-decide": "revise", onclick: () => ask("revise", about) }, "Revise…"), h(Button, { "data-decide": "reject", onclick: () => ask("reject", about) }, "Reject…"));
}

const EVENTS = { created: "Proposed", revised: "Worded anew", applied: "Applied", rejected: "Rejected", quarantined: "Quarantined", stale: "The skill changed meanwhile", rolled_back: "Rolled back", "rolled-back": "Rolled back", pruned: "Pruned", interrupted: "Interrupted" };

function Timeline() {
  return h("section", { class: "section" }, h("h2", null, "What happened"), h(Loaded, { of: events, doing: "The events could not be read.", rows: 2, describe: (value) => h("ol", { class: "timeline" }, value.events.map((one) => h("li", { key: one.sequence }, h("span", { class: "timeline-what" }, EVENTS[one.type] ?? one.type, one.actor ? h("span", { class: "muted" }, ` by ${one.actor.type}`) : null), h("time", { class: "meta", datetime: one.occurredAt, title: one.occurredAt }, ago(one.occurredAt)), one.payload?.note && h("p", { class: "muted break" }, one.payload.note)))) }));
}
