// Library: every source of skills with the one that wins first, what each holds, who shadows whom,
// what is wrong with files, and what was installed from elsewhere. Only an update changes anything.

import { agentId, agentList, agentName, comesLater, follow, gateway, report, skillOf, want, wantDetails } from "../app.js";
import { focusDrawn, h, remembered } from "../dom.js";
import { LiveAnswer } from "../live_answer.js";
import { Button, Chip, Empty, Filters, GatewayBand, Loaded, PageHead, Tag } from "../parts/basics.js";
import { FileFindings, Findings, StrictChoice, ValidationResults, isAbout, validate, validation } from "../parts/findings.js";
import { Icon } from "../parts/icon.js";
import { InstalledPage } from "../parts/installed.js";
import { WindowedList } from "../parts/list.js";
import { SkillPage } from "../parts/skill_page.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { HARNESSES, count } from "../words.js";

const list = new WindowedList({ rowHeight: 52 });
const shelves = new Resource(async ({ agent }) => expand(await gateway.request("skills.sources", { agentId: agent, brief: true })));
// What skills say of themselves is the gateway's to search.
const letters = new LiveAnswer(({ agent, query }) => gateway.request("skills.match", { agentId: agent, query }));
const FILTERS = [["all", "All"], ["active", "Active"], ["shadowed", "Shadowed"], ["draft", "Drafts"], ["broken", "Broken"], ["cut", "Over a limit"]];
const SCOPES = { gateway: "for all agents", user: "for this user", workspace: "for this workspace" };
const STATES = { active: null, shadowed: { tone: "slate", label: "Shadowed" }, draft: { tone: "accent", label: "Draft" }, broken: { tone: "danger", label: "Broken" }, cut: { tone: "needs", label: "Over a limit" } };

// Runs of folders that are not there, by the id of their first one: opened by hand.
const opened = new Set();

const NONE = Object.freeze([]);

// What counts and has nothing to remark comes as its name, and its path where that is not the usual one.
const plain = (name, path) => ({ name, path, state: "active", winner: null, identical: false, diagnostics: NONE });

function expand(found) {
  for (const source of found.sources) source.skills = source.skills.map((one) => (typeof one === "string" ? plain(one, `${source.path}/${one}/SKILL.md`) : Array.isArray(one) ? plain(...one) : one));
  return found;
}

const sources = () => shelves.value?.sources ?? NONE;
const isThere = (source) => source.exists || source.skills.length > 0 || source.diagnostics.length > 0;
// People count what they see: folders that are not there take no number.
const numberOf = (source) => sources().filter(isThere).indexOf(source) + 1;
const nameOf = (source) => HARNESSES[source.label] ?? source.label;
const filter = () => (FILTERS.some(([id]) => id === place.query.filter) ? place.query.filter : "all");
const isNarrowed = () => filter() !== "all" || Boolean((place.query.q ?? "").trim());

const LONGEST = 200;
const words = () => (place.query.q ?? "").trim().slice(0, LONGEST);

// Everything that the search leaves, as {source, entry}; `said` names skills that say the words.
const found = remembered((all, wanted, said) => {
  const names = new Set(said);
  const matches = (entry, source) => !wanted || (hasPage(entry) && names.has(entry.name)) || [entry.name, entry.description, entry.path, source.label].some((field) => (field ?? "").toLowerCase().includes(wanted));
  return all.flatMap((source) => source.skills.filter((entry) => matches(entry, source)).map((entry) => ({ source, entry })));
});

function searched() {
  const asked = { agent: agentId(), query: words() };
  if (!asked.query || gateway.state !== "live") letters.forget();
  else letters.want(asked);
  const isAnswered = letters.asked?.query === asked.query && letters.asked.agent === asked.agent;
  return found(sources(), asked.query.toLowerCase(), isAnswered ? letters.value.names : NONE);
}

// Sources and what they hold as one list of rows; many folders that are not there become one row.
function rows(found) {
  const kept = new Map();
  for (const one of found) {
    if (filter() !== "all" && one.entry.state !== filter()) continue;
    if (!kept.has(one.source)) kept.set(one.source, []);
    kept.get(one.source).push({ kind: "entry", ...one });
  }
  if (isNarrowed()) return [...kept].flatMap(([source, entries]) => [{ kind: "source", source }, ...entries]);
  const made = [];
  let gap = null;
  for (const source of sources()) {
    if (isThere(source)) {
      gap = null;
      made.push({ kind: "source", source }, ...(kept.get(source) ?? []));
    } else if (gap) gap.sources.push(source);
    else made.push((gap = { kind: "gap", sources: [source] }));
  }
  return made.flatMap((row) => (row.kind !== "gap" ? row : row.sources.length === 1 ? { kind: "source", source: row.sources[0] }
    : [row, ...(opened.has(row.sources[0].id) ? row.sources.map((source) => ({ kind: "source", source })) : [])]));
}

const keyOf = (row) => (row.kind === "entry" ? `entry ${row.source.id} ${row.entry.path}` : row.kind === "gap" ? `gap ${row.sources[0].id}` : `source ${row.source.id}`);

// What counts has a page by its name; what does not is known by its file alone.
const hasPage = (entry) => ["active", "draft"].includes(entry.state);
const addressOf = (entry) => (hasPage(entry) ? { skill: entry.name, file: null } : { skill: null, file: entry.path });
const isChosen = (entry) => (hasPage(entry) ? place.query.skill === entry.name : place.query.file === entry.path);
const openEntry = (entry, options) => go({ ...addressOf(entry), report: null, open: null }, options);

function linkTo(query) {
  const { q, filter: kept } = place.query;
  return viewLink("library", { ...(q ? { q } : {}), ...(kept ? { filter: kept } : {}), ...query });
}

function linkOf(path) {
  const found = sources().flatMap(({ skills }) => skills).find((entry) => entry.path === path);
  return found ? linkTo(hasPage(found) ? { skill: found.name } : { file: found.path }) : null;
}

function Row(row, attributes) {
  if (row.kind === "gap") return h(GapRow, { row, attributes });
  return row.kind === "source" ? h(SourceRow, { source: row.source, attributes }) : h(EntryRow, { row, attributes });
}

function GapRow({ row, attributes }) {
  const [first] = row.sources;
  const isOpen = opened.has(first.id);
  const switchIt = () => (isOpen ? opened.delete(first.id) : opened.add(first.id));
  return h("div", { ...attributes, class: "library-row library-gap" }, h("span", { class: "rank" }),
    h("button", { class: "button quiet small", "aria-expanded": String(isOpen), onclick: switchIt }, `${isOpen ? "Hide" : "Show"} ${row.sources.length} folders that are not there`));
}

function SourceRow({ source, attributes }) {
  const total = source.skills.length;
  return h("div", { ...attributes, class: ["library-row", "library-source", !source.exists && "library-absent"] },
    h("span", { class: "rank", title: isThere(source) ? `Source ${numberOf(source)} of ${sources().filter(isThere).length}` : "" }, numberOf(source) || "–"),
    h("div", { class: "row-words" },
      h("h2", { class: "source-name" }, nameOf(source), h("span", { class: "meta" }, SCOPES[source.scope] ?? source.scope, source.kind !== "skills" && ` · ${source.kind}`)),
      h("p", { class: "row-about mono", title: source.path }, source.path)),
    h("span", { class: "meta source-count" }, source.exists ? (total ? count(total, "file") : "empty") : "not there", source.linked && ", a link"));
}

function EntryRow({ row: { entry }, attributes }) {
  const state = STATES[entry.state];
  return h("div", { ...attributes, class: ["library-row", "library-entry", `entry-${entry.state}`, isChosen(entry) && "row-chosen"], onclick: (event) => event.target.closest("a, button") || openEntry(entry) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("a", { href: linkTo(hasPage(entry) ? { skill: entry.name } : { file: entry.path }) }, entry.state === "shadowed" ? h("s", null, entry.name) : entry.name),
        state && h(Chip, { tone: state.tone }, state.label), entry.state !== "broken" && h(Remarks, { entry })),
      h("p", { class: "row-about" }, h(EntryAbout, { entry }))));
}

function Remarks({ entry }) {
  const wrong = entry.diagnostics.filter(({ severity }) => severity !== "info");
  return wrong.length ? h(Chip, { tone: wrong.some(({ severity }) => severity === "error") ? "danger" : "needs", title: wrong[0].message }, count(wrong.length, "remark")) : null;
}

function EntryAbout({ entry }) {
  if (entry.state === "broken") {
    const [first] = entry.diagnostics;
    return first ? [h("code", null, `SKILL.md:${first.line ?? 1}`.replace("SKILL.md", entry.path.split(/[\\/]/).at(-1))), " ", first.message] : "cannot be read";
  }
  if (entry.state === "cut") return entry.diagnostics[0]?.message ?? entry.description;
  if (entry.state !== "shadowed" || !entry.winner) return entry.description ?? skillOf(entry.name)?.description ?? "";
  return [entry.identical ? "The same text as " : "Gives way to ", h("a", { href: linkTo({ skill: entry.winner.name }) }, entry.winner.name, " in ", labelOf(entry.winner.sourceId) ?? entry.winner.source)];
}

function labelOf(id) {
  const found = sources().find((source) => source.id === id);
  return found && nameOf(found);
}

// Where a skill that counts stands, and which files it shadows.
function standingOf(name) {
  const source = sources().find(({ skills }) => skills.some((entry) => entry.name === name && hasPage(entry)));
  if (!source) return null;
  const shadows = sources().flatMap((other) => other.skills.filter((entry) => entry.state === "shadowed" && entry.name === name).map(({ path, identical }) => ({ path, identical, label: nameOf(other) })));
  return { source, shadows, label: nameOf(source), number: numberOf(source) };
}

function FilePage({ path }) {
  const entry = sources().flatMap(({ skills }) => skills).find((one) => one.path === path && !hasPage(one));
  if (!entry) return shelves.state === "ready" ? h(Empty, { title: "That file is no longer there, or counts as a skill now.", action: h(Button, { onclick: leave }, "Show the whole library") }) : null;
  const state = STATES[entry.state];
  return h("article", { class: "skill-page library-page" },
    h("header", null, h("h2", { class: "skill-title", tabindex: -1 }, entry.state === "shadowed" ? h("s", null, entry.name) : entry.name), h("p", { class: "line" }, h(Chip, { tone: state.tone }, state.label)), entry.description && h("p", { class: "skill-about break" }, entry.description)),
    entry.winner && h("p", { class: "note" }, "Another skill of this name stands before it, so agents of this workspace do not read this one: ", h("a", { href: linkTo({ skill: entry.winner.name }) }, `${entry.winner.name} in ${labelOf(entry.winner.sourceId) ?? entry.winner.source}`), entry.identical ? ". Both say the same." : ". Agents of other workspaces may read it; to have both here, rename one."),
    entry.state === "broken" && h("p", { class: "note note-danger" }, "No agent has it until its file is mended. This page notices when it is."),
    h("section", { class: "section" }, h("h3", null, "File"), h("p", null, h("code", { class: "break" }, entry.path))),
    entry.diagnostics.length > 0 && h("section", { class: "section" }, h("h3", null, "Diagnostics"), h(Findings, { findings: entry.diagnostics })));
}

// Everything noticed while the sources were read, by file.
function problems() {
  const found = new Map();
  // What is said of a folder and of each file that it concerns is said once.
  const isSaid = (some, { code, line, message }) => some.some((one) => one.code === code && one.line === line && one.message === message);
  const add = (one) => {
    const some = found.get(one.path) ?? [];
    if (!isSaid(some, one)) found.set(one.path, [...some, one]);
  };
  for (const source of sources()) [...source.diagnostics, ...source.skills.flatMap(({ diagnostics }) => diagnostics)].forEach(add);
  (shelves.value?.diagnostics ?? []).forEach(add);
  return [...found];
}

function ReportPage() {
  const strict = place.query.strict === "1";
  const found = problems();
  const change = (on) => {
    go({ strict: on ? "1" : null }, { replace: true });
    if (isAbout("")) validate("", on);
  };
  return h("article", { class: "skill-page library-page" },
    h("header", null, h("h2", { class: "skill-title", tabindex: -1 }, isAbout("") ? "Validation" : "Diagnostics"),
      h("p", { class: "muted" }, isAbout("") ? "Every file of every source, checked against the rules." : "What was noticed while the files were read. “Validate all” looks closer."),
      isAbout("") && h("div", null, h(StrictChoice, { strict, onchange: change }))),
    isAbout("") ? h(ValidationResults, { linkOf, retry: () => validate("", strict) })
      : found.length ? found.map(([path, findings]) => h(FileFindings, { path, findings, link: linkOf(path) }))
        : h("p", { class: "note note-ready" }, "Every file could be read, and there is nothing to say about any."));
}

const leave = () => go({ skill: null, file: null, report: null, open: null, update: null, keep: null });

// A link from elsewhere names a skill that may stand far down: its row is brought into sight, once.
let revealed = "";

function revealChosen(shown) {
  const at = shown.findIndex((row) => row.kind === "entry" && isChosen(row.entry));
  const key = at < 0 ? "" : keyOf(shown[at]);
  if (key && key !== revealed) requestAnimationFrame(() => list.reveal(at, { middle: true }));
  revealed = key;
}

function List({ found }) {
  const shown = rows(found);
  revealChosen(shown);
  if (!sources().some(({ skills }) => skills.length)) return h(Empty, { title: "No source holds a skill yet.", command: "prowess load --all" }, "Put a folder with a SKILL.md below skills/ in the workspace, or copy the bundled ones.");
  if (!shown.length) return h(Empty, { title: "Nothing matches.", action: h(Button, { onclick: () => go({ q: null, filter: null }) }, "Show the whole library") });
  const drawn = (some) => wantDetails(some.filter(({ kind, entry }) => kind === "entry" && entry.description === undefined).map(({ entry }) => skillOf(entry.name)).filter(Boolean));
  return list.view({ items: shown, keyOf, row: Row, label: "Sources, the one that wins first", drawn });
}

function scope() {
  const there = sources().filter(({ exists }) => exists).length;
  const files = sources().reduce((sum, { skills }) => sum + skills.length, 0);
  const whose = agentList().length > 1 ? ` Seen from ${agentName()}'s workspace.` : "";
  return `Where skills come from. Of two with one name, the source that stands first wins.${shelves.state === "ready" ? ` ${count(files, "file")} in ${count(there, "folder")}.` : ""}${whose}`;
}

function Detail() {
  const { skill, file } = place.query;
  if (skill && skillOf(skill)) return h(SkillPage, { skill: skillOf(skill), standing: standingOf(skill) });
  if (skill) return report.state === "ready" ? h(Empty, { title: `${agentName()} has no skill called “${skill}”.`, action: h(Button, { onclick: leave }, "Show the whole library") }, "It may have been renamed or removed, or it belongs to another agent's workspace.") : null;
  if (file) return h(FilePage, { path: file });
  if (place.query.report === "installed") return h(InstalledPage);
  return shelves.state === "ready" ? h(ReportPage) : null;
}

function describe() {
  if (agentId()) want(shelves, { agent: agentId() });
  const ready = shelves.state === "ready";
  const found = searched();
  const { skill, file, report } = place.query;
  const chosen = skill || file || report;
  const wrong = problems().length;
  const options = FILTERS.map(([id, label]) => ({ id, label, count: ready ? (id === "all" ? found : found.filter(({ entry }) => entry.state === id)).length : undefined }));
  return [h(GatewayBand, { words: "Folders of a workspace concern the agents that work there; all others concern every agent of this gateway." }),
    h(PageHead, { title: "Library", scope: scope() },
      h(Button, { icon: "lock", onclick: () => go({ skill: null, file: null, open: null, report: "installed" }) }, "Installed"),
      h(Button, { onclick: () => { validation.clear(); go({ skill: null, file: null, open: null, report: "1" }); } }, "Diagnostics", wrong > 0 && ` (${wrong})`),
      h(Button, { icon: "check", busy: isAbout("") && validation.busy, disabled: !ready, onclick: () => { go({ skill: null, file: null, open: null, report: "1" }); validate("", place.query.strict === "1"); } }, "Validate all")),
    h("div", { class: ["list-head", chosen && "list-head-away"] }, h(Filters, { label: "State", options, value: filter(), disabled: !ready, onchange: (id) => go({ filter: id === "all" ? null : id }, { replace: true }) })),
    h("div", { class: ["split", chosen && "split-chosen"] },
      h("div", { class: "split-list" }, h(Loaded, { of: shelves, doing: "The sources could not be read.", rows: 9, later: comesLater("sources"), describe: () => h(List, { found }) })),
      h("section", { class: "split-detail", key: skill ?? file ?? (report === "installed" ? report : "report"), tabindex: -1, "aria-label": skill ? `About ${skill}` : file ? "About the file" : report === "installed" ? "Installed skills" : "What was found" },
        h("button", { class: "button quiet split-back", onclick: leave }, h(Icon, { name: "back" }), "All sources"), h(Detail)))];
}

function move(step) {
  const shown = rows(searched());
  const entries = shown.filter(({ kind }) => kind === "entry");
  const at = entries.findIndex(({ entry }) => isChosen(entry));
  const next = entries[Math.min(entries.length - 1, Math.max(0, at + step))];
  if (!next) return;
  openEntry(next.entry, { replace: true });
  list.reveal(shown.indexOf(next));
}

const keys = () => ({ j: () => move(1), k: () => move(-1), Enter: () => focusDrawn(".split-detail h2"), Escape: leave });

for (const event of ["connected", "skills.changed", "config.changed", "skills.proposal"]) follow(event, () => shelves.reload());

export const library = { label: "Library", search: "Search every source", describe, keys };
