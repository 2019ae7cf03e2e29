// One skill as the library knows it: where it stands among the sources, its outline and files, what
// became of it, who uses it, and what it says.

import { agentId, agentName, comesLater, gateway, want } from "../app.js";
import { h } from "../dom.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { ago, canSetUp, emojiOf, readinessChip, reasons, sentence } from "../words.js";
import { Button, Chip, Dialog, Empty, Failed, Loaded, Skeleton, Tag, WebLink } from "./basics.js";
import { Findings, StrictChoice, ValidateButton, ValidationResults, isAbout, validate } from "./findings.js";
import { Icon } from "./icon.js";
import { bytes } from "./install_pane.js";
import { Markdown } from "./markdown.js";
import { Requirements } from "./skill_page.js";

const detail = new Resource(({ agent, name }) => gateway.request("skills.detail", { agentId: agent, name }));
const history = new Resource(({ agent, name }) => gateway.request("skills.history", { agentId: agent, name }));
// Of all agents: the library belongs to none.
const usage = new Resource(({ name }) => gateway.request("skills.usage", { name, limit: 1 }));
const file = new Resource(({ agent, name, path }) => gateway.request("skills.file", { agentId: agent, name, path }));

export function refreshPage() {
  for (const resource of [detail, history, usage, file]) resource.reload();
}

export function LibraryPage({ name, standing, back }) {
  const asked = { agent: agentId(), name };
  want(detail, asked);
  want(history, asked);
  want(usage, asked);
  return h(Loaded, { of: detail, doing: `${name} could not be read.`, rows: 6, later: comesLater("texts"), describe: ({ skill }) => (skill
    ? h(Page, { skill, standing })
    : h(Empty, { title: `${agentName()} has no skill called “${name}”.`, action: h(Button, { onclick: back }, "Show the whole library") }, "It may have been renamed or removed, or it belongs to another agent's workspace.")) });
}

function Page({ skill, standing }) {
  return h("article", { class: "skill-page library-page" },
    h(Head, { skill, standing }),
    h(Checked, { skill }),
    h(Section, { title: "Requirements" }, h(Requirements, { skill })),
    h(Section, { title: "Where it comes from" }, h(Origin, { skill, standing })),
    h(Section, { title: "Outline" }, h(Outline, { sections: skill.sections ?? [] })),
    h(Section, { title: "Files" }, h(Files, { skill })),
    h(Section, { title: "History" }, h(History, { name: skill.name })),
    h(Section, { title: "Use" }, h(Use)),
    h(Section, { title: "What the agent reads", body: true }, h(Markdown, { level: 4, text: skill.body })),
    h(FileView, { skill }));
}

const Section = ({ title, body, children }) => h("section", { class: ["section", body && "library-body"] }, h("h3", null, title), children);

function Head({ skill, standing }) {
  const state = readinessChip(skill);
  const why = reasons(skill);
  return h("header", null,
    h("h2", { tabindex: -1, class: "skill-title" }, emojiOf(skill), skill.name),
    h("p", { class: "line" }, h(Chip, { tone: state.tone }, state.label), standing && h(Tag, null, `${standing.label} · source ${standing.number}`), skill.always && h(Tag, null, "always on"), !skill.modelVisible && h(Tag, null, "hidden from the model")),
    h("p", { class: "skill-about break" }, skill.description),
    why.length > 0 && h("p", { class: "note note-needs" }, h("strong", null, "Not ready: "), why.map(sentence).join("; "), ". ",
      canSetUp(skill) && h("a", { href: viewLink("setup", { configure: skill.skillKey }) }, "Open System Setup")));
}

function Checked({ skill }) {
  const strict = place.query.strict === "1";
  const found = skill.diagnostics ?? [];
  return h("div", { class: "checked" },
    h("div", { class: "line" }, h(ValidateButton, { name: skill.name, strict }), h(StrictChoice, { strict, onchange: (on) => {
      go({ strict: on ? "1" : null }, { replace: true });
      if (isAbout(skill.name)) validate(skill.name, on);
    } })),
    isAbout(skill.name) ? h(ValidationResults, { retry: () => validate(skill.name, strict) }) : found.length > 0 && h(Findings, { findings: found }));
}

function Origin({ skill, standing }) {
  return h("dl", { class: "facts" },
    h("dt", null, "File"), h("dd", null, h("code", { class: "break" }, skill.filePath)),
    h("dt", null, "Key"), h("dd", null, h("code", null, skill.skillKey)),
    h("dt", null, "Dialect"), h("dd", null, skill.dialect),
    skill.homepage ? [h("dt", null, "Page"), h("dd", null, h(WebLink, { href: skill.homepage }, skill.homepage))] : null,
    h("dt", null, "Content"), h("dd", null, h("code", { title: skill.contentHash }, (skill.contentHash ?? "").slice(0, 12))),
    standing?.shadows.length > 0 && [h("dt", null, "Shadows"), h("dd", null, h("ul", { class: "plain" }, standing.shadows.map(({ path, label, identical }) => h("li", { key: path }, h("a", { class: "break", href: viewLink("library", { file: path }) }, path), h("span", { class: "muted" }, ` in ${label}${identical ? ", the same text" : ""}`)))))]);
}

function Outline({ sections }) {
  if (!sections.length) return h("p", { class: "muted" }, "It has no headings.");
  const seen = new Map();
  return h("ol", { class: "outline" }, sections.map(({ title, level, line }, at) => {
    const turn = seen.get(title) ?? 0;
    seen.set(title, turn + 1);
    return h("li", { key: at, "data-level": Math.min(level, 4) }, h("button", { class: "outline-link", onclick: () => showHeading(title, turn) }, title), h("span", { class: "meta" }, `line ${line}`));
  }));
}

// The body's headings carry no ids: two skills on one page would share them.
function showHeading(title, turn) {
  const plain = (words) => words.replaceAll(/[`*_\s]/g, "");
  const found = [...document.querySelectorAll(".library-body .prose :is(h2, h3, h4)")].filter((node) => plain(node.textContent) === plain(title))[turn];
  if (!found) return;
  found.tabIndex = -1;
  found.scrollIntoView({ block: "start" });
  found.focus({ preventScroll: true });
}

function Files({ skill }) {
  const paths = [skill.filePath.split(/[\\/]/).at(-1), ...(skill.resources ?? [])];
  return h("ul", { class: "files" }, paths.map((path) => h("li", { key: path }, h(Icon, { name: "file" }),
    h("a", { class: "break mono", href: viewLink("library", { ...place.query, open: path }) }, path))));
}

function FileView({ skill }) {
  const path = place.query.open;
  if (!path) return null;
  want(file, { agent: agentId(), name: skill.name, path });
  const close = () => go({ open: null }, { replace: true });
  return h(Dialog, { key: "file", label: `File ${path}`, wide: true, onclose: close },
    h("div", { class: "dialog-head configure-head" }, h("div", null, h("h2", { class: "configure-title mono", tabindex: -1, autofocus: true }, path), h("p", { class: "meta" }, skill.name, file.value?.size ? ` · ${bytes(file.value.size)}` : "")),
      h("button", { class: "icon-button", "aria-label": "Close", onclick: close }, h(Icon, { name: "close" }))),
    h(FileText));
}

function FileText() {
  if (file.state === "failed") return h(Failed, { error: file.error, doing: "The file could not be read.", retry: () => file.reload() });
  if (file.state !== "ready") return h(Skeleton, { rows: 3 });
  const { kind, text, limit } = file.value;
  if (kind === "text") return h("pre", { class: "file-text", tabindex: 0, role: "region", "aria-label": "Text of the file" }, h("code", null, text || "The file is empty."));
  return h("p", { class: "note" }, kind === "binary" ? "This is no text: it is handed to the agent as a file." : `More than ${bytes(limit)}: open it in an editor.`);
}

const WHAT = { created: "Proposed", updated: "Proposed anew", revised: "Revised", applied: "Applied", rejected: "Rejected", quarantined: "Put into quarantine", stale: "Went stale", rolled_back: "Rolled back" };

function History({ name }) {
  if (history.state === "failed") return h(Failed, { error: history.error, doing: "The history could not be read.", retry: () => history.reload() });
  if (history.state !== "ready") return h("p", { class: "muted" }, "…");
  const { changes, versions } = history.value;
  const titles = new Map(versions.map(({ proposalId, title }) => [proposalId, title]));
  const holds = new Set(versions.map(({ proposalId }) => proposalId));
  if (!changes.length) return h("p", { class: "muted" }, "The workshop has not changed it. Edits by hand are not recorded.");
  const newest = [...changes].sort((one, other) => other.sequence - one.sequence);
  return h("ol", { class: "story", "aria-label": `History of ${name}` }, newest.map((change) => h("li", { key: change.sequence },
    h("time", { class: "meta", datetime: change.occurredAt, title: new Date(change.occurredAt).toLocaleString("en-CA") }, ago(change.occurredAt)),
    h("div", null, h("p", null, WHAT[change.type] ?? change.type, ": ", h("a", { href: viewLink("workshop", { proposal: change.proposalId }) }, titles.get(change.proposalId) ?? change.proposalId), change.type === "applied" && holds.has(change.proposalId) && h("span", { class: "muted" }, " · still holds")),
      change.note && h("p", { class: "meta break" }, change.note)))));
}

const COUNTS = [["listed", "Listed"], ["routed", "Routed"], ["loaded", "Loaded"], ["invoked", "Invoked"], ["corrected", "Corrected"]];

function Use() {
  if (usage.state === "failed") return h(Failed, { error: usage.error, doing: "The use could not be read.", retry: () => usage.reload() });
  if (usage.state !== "ready") return h("p", { class: "muted" }, "…");
  const totals = usage.value.totals ?? [];
  if (!totals.length) return h("p", { class: "muted" }, "No agent has used it yet.");
  return h("div", { class: "use-table", tabindex: 0, role: "region", "aria-label": "Use by agent" }, h("table", { class: "table" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Agent"), COUNTS.map(([id, label]) => h("th", { class: "number", scope: "col", key: id }, label)), h("th", { scope: "col" }, "Last"))),
    h("tbody", null, totals.map((one) => h("tr", { key: one.agentId }, h("th", { scope: "row" }, agentName(one.agentId)), COUNTS.map(([id]) => h("td", { class: "number", key: id }, (one[id] ?? 0).toLocaleString("en"))), h("td", null, one.lastUsedAt ? ago(one.lastUsedAt) : "never"))))));
}
