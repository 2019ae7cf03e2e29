// One proposal as a reviewer reads it: why, from which words, what would change at which line, what
// the scanner says about it, and what else is like it.

import { agentId, gateway } from "../app.js";
import { h } from "../dom.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { ago, count } from "../words.js";
import { Button, Chip, Loaded, Tag } from "./basics.js";
import { ask } from "./decisions.js";
import { Diff, Finding } from "./diff.js";
import { Icon } from "./icon.js";
import { Markdown } from "./markdown.js";

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

export function refresh() {
  inspected.reload();
  events.reload();
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
  const isNewer = seen.id === record.id && seen.revision !== value.revisionHash;
  const findings = record.scan?.findings ?? NONE;
  return h("article", { class: "proposal" },
    h("header", { class: "proposal-head" },
      h("div", null, h("h1", { id: "page-title", tabindex: -1, class: "break" }, record.title),
        h("p", { class: "line" }, stateChip(record.status), h(Tag, null, record.kind === "create" ? "new skill" : "change of", " "), h("code", null, record.skillName), h(Tag, null, sourceWords(record.source)), h(Tag, { title: record.createdAt }, ago(record.createdAt)))),
      h(Actions, { value, isNewer })),
    isNewer && record.status === "pending" && h("div", { class: "note note-needs line", role: "alert" }, h("p", null, "The proposal changed while you were reading. This is the new text."), h(Button, { onclick: () => { seen = { id: record.id, revision: value.revisionHash }; } }, "I have read it")),
    value.applyProblem && record.status === "pending" && h("p", { class: "note note-needs" }, value.applyProblem),
    value.targetChanged && record.status === "pending" && value.canApply !== false && h("p", { class: "note" }, "The skill changed since this was proposed; what you see is against its text of now."),
    HINTS[record.status] && h("p", { class: "note" }, HINTS[record.status]),
    record.status === "applied" && value.rollbackProblem && h("p", { class: "note" }, `It cannot be rolled back: ${value.rollbackProblem}.`),
    record.statusReason && h("p", { class: "note note-danger" }, `${record.status === "quarantined" ? "Quarantined" : "Decided"}: ${record.statusReason}`),
    h("section", { class: "section" }, h("h2", null, "Why"), h("p", { class: "break" }, record.reason || "No reason was given."),
      record.evidence?.length > 0 && h("ul", { class: "quotes" }, record.evidence.map((one) => h("li", { key: `${one.message} ${one.quote}` }, h("blockquote", null, one.quote), h("p", { class: "meta" }, `${one.role}${one.message === undefined || one.message === null ? "" : `, message ${one.message}`}`)))),
      record.origin?.sessionKey && h("p", { class: "meta" }, "Session ", h("code", null, record.origin.sessionKey))),
    h("section", { class: "section" }, h("h2", null, "What the scanner says"), findings.length === 0 ? h("p", { class: "line" }, h(Chip, { tone: "ready" }, "Nothing found"), h("span", { class: "muted" }, "in the text that would be written")) : [h("p", { class: "muted" }, `${count(findings.length, "finding")}, marked at their lines below.${findings.length > MOST_FINDINGS ? ` The first ${MOST_FINDINGS}:` : ""}`), findings.slice(0, MOST_FINDINGS).map((finding) => h("div", { class: "finding-line", key: `${finding.file} ${finding.line} ${finding.ruleId}` }, h("code", null, `${finding.file}:${finding.line}`), h(Finding, { finding })))]),
    record.similar?.length > 0 && h("section", { class: "section" }, h("h2", null, "Skills that are much like it"), h("ul", { class: "plain-list" }, record.similar.map((one) => h("li", { key: one.skillName }, h("a", { href: viewLink("skills", { skill: one.skillName }) }, one.skillName), h("span", { class: "muted" }, ` ${Math.round(one.score * 100)} % alike`))))),
    h(Changes, { value, findings }),
    h(Timeline));
}

function headingOf({ status, kind }) {
  if (status === "applied") return kind === "create" ? "What was written" : "What was changed";
  return kind === "create" ? "What would be written" : "What would change";
}

const HINTS = {
  stale: "The skill changed after this was proposed, so it no longer fits. Nothing is lost: the same lesson may come again, and then against the text of now.",
  rejected: "Nothing was written, and the same lesson does not come again.",
};

function Changes({ value, findings }) {
  const { record } = value;
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
  const about = { record, revision: value.revisionHash, content: value.content };
  if (record.status === "applied") return h("div", { class: "page-actions" }, h(Button, { icon: "undo", disabled: value.canRollBack === false, title: value.rollbackProblem || undefined, onclick: () => ask("rollback", about) }, "Roll back…"));
  if (record.status === "quarantined") return h("div", { class: "page-actions" }, h(Button, { onclick: () => ask("revise", about) }, "Revise…"), h(Button, { onclick: () => ask("reject", about) }, "Reject…"));
  if (record.status !== "pending") return null;
  return h("div", { class: "page-actions" },
    h(Button, { kind: "primary", icon: "check", disabled: isNewer || value.canApply === false, onclick: () => ask("apply", about) }, record.kind === "create" ? `Create ${record.skillName}` : `Apply to ${record.skillName}`),
    h(Button, { onclick: () => ask("revise", about) }, "Revise…"), h(Button, { onclick: () => ask("reject", about) }, "Reject…"));
}

const EVENTS = { created: "Proposed", revised: "Worded anew", applied: "Applied", rejected: "Rejected", quarantined: "Quarantined", stale: "The skill changed meanwhile", rolled_back: "Rolled back", "rolled-back": "Rolled back", pruned: "Pruned", interrupted: "Interrupted" };

function Timeline() {
  return h("section", { class: "section" }, h("h2", null, "What happened"), h(Loaded, { of: events, doing: "The events could not be read.", rows: 2, describe: (value) => h("ol", { class: "timeline" }, value.events.map((one) => h("li", { key: one.sequence }, h("span", { class: "timeline-what" }, EVENTS[one.type] ?? one.type, one.actor ? h("span", { class: "muted" }, ` by ${one.actor.type}`) : null), h("time", { class: "meta", datetime: one.occurredAt, title: one.occurredAt }, ago(one.occurredAt)), one.payload?.note && h("p", { class: "muted break" }, one.payload.note)))) }));
}
