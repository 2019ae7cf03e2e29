// Everything about one skill, for any view: readiness with each requirement ticked or not, where it
// comes from, what it says, what it brings, when it was used.

import { agentId, comesLater, gateway, report, want } from "../app.js";
import { h } from "../dom.js";
import { viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { agentChip, agentState, ago, canSetUp, emojiOf, reasons, scopeLabel, sentence, sourceLabel } from "../words.js";
import { Chip, Loaded, Tag, WebLink } from "./basics.js";
import { Icon } from "./icon.js";
import { Markdown } from "./markdown.js";

const detail = new Resource(({ agent, name }) => gateway.request("skills.detail", { agentId: agent, name }));
const usage = new Resource(({ agent, name }) => gateway.request("skills.usage", { agentId: agent, name, limit: 1 }));

let from = null;

// Fetched when another skill is shown, or the shown one changed on disk.
function fetchFor(skill) {
  const asked = { agent: agentId(), name: skill.name };
  const isOther = detail.asked?.name !== asked.name || detail.asked?.agent !== asked.agent;
  want(detail, asked);
  want(usage, asked);
  if (gateway.state !== "live" || from === skill) return;
  from = skill;
  if (!isOther) [detail, usage].forEach((one) => one.reload());
}

const WORDS = { bins: "program", anyBins: "one of the programs", env: "variable", config: "setting", os: "system" };

// How one requirement stands: a tick only for what was looked for and found.
export function NeedMark({ missing, unchecked }) {
  const [name, words] = unchecked ? ["minus", "Not checked: "] : missing ? ["close", "Missing: "] : ["check", "There: "];
  return [h(Icon, { name }), h("span", { class: "visually-hidden" }, words)];
}

export const needClass = ({ missing, unchecked }) => (unchecked ? "need-unchecked" : missing ? "need-missing" : "need-there");
// An `always` skill is on whatever is there; only its system is looked at.
export const isUnchecked = (skill, kind) => Boolean(skill.always) && kind !== "os";
export const Unchecked = () => h("span", { class: "meta" }, "not checked, always on");

// What its file says wrongly: the line and the words, as far as they are known.
export function Unreadable({ diagnostics, name }) {
  const found = diagnostics.find(({ code }) => code === "METADATA_UNREADABLE") ?? diagnostics.find(({ severity }) => severity !== "info");
  return h("p", { class: "note note-danger" }, found ? `Its requirements cannot be read: SKILL.md line ${found.line ?? 1}, ${found.message.replace(/\.$/, "")}. ` : "Its requirements cannot be read. ",
    h("a", { href: viewLink("library", { skill: name }) }, "See the file in the library"));
}

export const diagnosticsOf = (skill) => skill.diagnostics ?? (report.value?.diagnostics ?? []).filter(({ path }) => path === skill.filePath);

export function Requirements({ skill }) {
  if (skill.blockedByMetadata) return h(Unreadable, { name: skill.name, diagnostics: diagnosticsOf(skill) });
  const rows = Object.entries(skill.requirements ?? {}).flatMap(([kind, names]) => (kind === "anyBins" && names.length
    ? [{ kind, name: names.join(" or "), missing: Boolean(skill.missing?.anyBins?.length), unchecked: isUnchecked(skill, kind) }]
    : names.map((name) => ({ kind, name, missing: Boolean(skill.missing?.[kind]?.includes(name)), unchecked: isUnchecked(skill, kind) }))));
  if (!rows.length) return h("p", { class: "muted" }, "Needs nothing but itself.");
  return h("ul", { class: "needs" }, rows.map((row) => h("li", { key: `${row.kind} ${row.name}`, class: needClass(row) },
    h(NeedMark, row), h("span", { class: "muted need-kind" }, WORDS[row.kind] ?? row.kind), " ", h("code", null, row.name), row.unchecked && h(Unchecked))));
}

export function SkillPage({ skill }) {
  fetchFor(skill);
  const state = agentChip(skill);
  const why = reasons(skill);
  return h("article", { class: "skill-page" },
    h("header", null, h("h2", { tabindex: -1, class: "skill-title" }, emojiOf(skill), skill.name),
      h("p", { class: "line" }, h(Chip, { tone: state.tone }, state.label), h(Tag, null, `${sourceLabel(skill)} · there for ${scopeLabel(skill)}`), agentState(skill) === "ready" && !skill.modelVisible && !skill.blockedByAgentFilter ? h(Tag, null, "· hidden from the model") : null),
      h("p", { class: "skill-about break" }, skill.description)),
    why.length > 0 && h("div", { class: "note note-needs" }, h("p", null, h("strong", null, "Not ready: "), why.map(sentence).join("; "), "."),
      canSetUp(skill) && h("p", null, h("a", { href: viewLink("setup", { configure: skill.skillKey }) }, "Open System Setup"))),
    h("section", { class: "section" }, h("h3", null, "Requirements"), h(Requirements, { skill })),
    h(Loaded, { of: detail, doing: "The skill could not be read.", rows: 4, later: comesLater("texts"), describe: (value) => (value.skill ? h(Rest, { skill: value.skill }) : h("p", { class: "note" }, "The skill is no longer there.")) }));
}

function Rest({ skill }) {
  return [
    h("section", { class: "section" }, h("h3", null, "Where it comes from"), h("dl", { class: "facts" },
      h("dt", null, "File"), h("dd", null, h("code", { class: "break" }, skill.filePath)),
      h("dt", null, "Key"), h("dd", null, h("code", null, skill.skillKey)),
      skill.homepage && [h("dt", null, "Page"), h("dd", null, h(WebLink, { href: skill.homepage }, skill.homepage))],
      h("dt", null, "Last uses"), h("dd", null, h(LastUses))),
    h("p", { class: "line" }, h("a", { href: viewLink("library", { skill: skill.name }) }, "History and diagnostics in the library"))),
    skill.diagnostics?.length > 0 && h("section", { class: "section" }, h("h3", null, "Diagnostics"), h("ul", { class: "problems" }, skill.diagnostics.map((one) => h("li", null, h(Chip, { tone: one.severity === "error" ? "danger" : "needs" }, one.severity), " ", h("code", null, `line ${one.line ?? 1}`), " ", one.message)))),
    skill.resources?.length > 0 && h("section", { class: "section" }, h("h3", null, "Files"), h("ul", { class: "files" }, skill.resources.map((path) => h("li", { key: path }, h(Icon, { name: "file" }), h("code", { class: "break" }, path))))),
    h("section", { class: "section" }, h("h3", null, "What the agent reads"), h(Markdown, { level: 4, text: skill.body }))];
}

function LastUses() {
  if (usage.state !== "ready") return h("span", { class: "muted" }, "…");
  const totals = usage.value.totals ?? [];
  const [own] = totals;
  if (!own) return "never used";
  const said = ["routed", "loaded", "invoked", "corrected"].filter((kind) => own[kind] > 0).map((kind) => `${kind} ${own[kind]}×`);
  return `${said.join(", ") || "never used"}${own.lastUsedAt ? ` · last ${ago(own.lastUsedAt)}` : ""}`;
}
