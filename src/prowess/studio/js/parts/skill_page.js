// One skill, on every page that shows one: what it says, its way to the model step by step, its files,
// where it comes from, and what became of it.

import { agentId, agentName, comesLater, follow, gateway, wantDetails, want } from "../app.js";
import { h } from "../dom.js";
import { go, link, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { ago, canSetUp, count, emojiOf, readiness, readinessChip, reasons, scopeLabel, sentence, sourceLabel } from "../words.js";
import { Button, Chip, copy, Dialog, Failed, Loaded, Skeleton, Tag, WebLink } from "./basics.js";
import { Findings, StrictChoice, ValidateButton, ValidationResults, isAbout, validate } from "./findings.js";
import { Icon } from "./icon.js";
import { bytes } from "./install_pane.js";
import { Markdown } from "./markdown.js";
import { acceptFinding, draft, isBusy, setDraft } from "./setup_actions.js";
import { Freshness, Proof, SLOW_MS, claimsOf, fresh, proof } from "./skill_proof.js";

const detail = new Resource(({ agent, name }) => gateway.request("skills.detail", { agentId: agent, name }));
const chain = new Resource(({ agent, name }) => gateway.request("skills.why", { agentId: agent, name }));
const history = new Resource(({ agent, name }) => gateway.request("skills.history", { agentId: agent, name }));
// Of all agents: a skill belongs to none.
const usage = new Resource(({ name }) => gateway.request("skills.usage", { name, limit: 1 }));
const tests = new Resource(() => gateway.request("skills.tests.list"));
// Run when somebody asks for it, and true for the skill as it was then.
const results = new Resource(({ agent, name }) => gateway.request("skills.test", { agentId: agent, name }, { timeout: SLOW_MS }));
const file = new Resource(({ agent, name, path }) => gateway.request("skills.file", { agentId: agent, name, path }));

let isWhole = false;

// Fetched when another skill is shown, or the shown one changed.
function fetchFor(skill) {
  const asked = { agent: agentId(), name: skill.name };
  const isOther = chain.asked?.name !== asked.name || chain.asked?.agent !== asked.agent;
  if (isOther) isWhole = false;
  want(chain, asked);
  const others = skill.unread ? [] : [detail, history, usage, tests];
  for (const one of others) want(one, asked);
  wantDetails([skill]);
}

// The details of the shown skill, where they are there: diagnostics, resources, what it shadows.
export const shownDetail = (name) => (detail.asked?.name === name && detail.asked.agent === agentId() ? detail.value : null);
export const wantDetail = (name) => want(detail, { agent: agentId(), name });

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
export function Unreadable({ name }) {
  const diagnostics = shownDetail(name)?.skill?.diagnostics ?? [];
  const found = diagnostics.find(({ code }) => code === "METADATA_UNREADABLE") ?? diagnostics.find(({ severity }) => severity !== "info");
  return h("p", { class: "note note-danger" }, found ? `Its requirements cannot be read: SKILL.md line ${found.line ?? 1}, ${found.message.replace(/\.$/, "")}. ` : "Its requirements cannot be read. ",
    h("a", { href: viewLink("library", { skill: name }) }, "See the file in the library"));
}

export function Requirements({ skill }) {
  if (skill.blockedByMetadata) return h(Unreadable, { name: skill.name });
  const rows = Object.entries(skill.requirements ?? {}).flatMap(([kind, names]) => (kind === "anyBins" && names.length
    ? [{ kind, name: names.join(" or "), missing: Boolean(skill.missing?.anyBins?.length), unchecked: isUnchecked(skill, kind) }]
    : names.map((name) => ({ kind, name, missing: Boolean(skill.missing?.[kind]?.includes(name)), unchecked: isUnchecked(skill, kind) }))));
  if (!rows.length) return h("p", { class: "muted" }, "Needs nothing but itself.");
  return h("ul", { class: "needs" }, rows.map((row) => h("li", { key: `${row.kind} ${row.name}`, class: needClass(row) },
    h(NeedMark, row), h("span", { class: "muted need-kind" }, WORDS[row.kind] ?? row.kind), " ", h("code", null, row.name), row.unchecked && h(Unchecked))));
}

// What keeps it from use, each with its place and the operator's way to let it pass.
export function Blocked({ skill }) {
  return h("ul", { class: "problems blocked-findings" }, (skill.scannerBlock?.findings ?? []).map((finding) => {
    const action = `accept ${finding.evidenceHash}`;
    return h("li", { key: finding.evidenceHash }, h("p", null, h("code", { class: "break" }, `${finding.file}:${finding.line}`), " ", h("code", null, finding.ruleId), " ", finding.message),
      h("form", { class: "line", onsubmit: (event) => { event.preventDefault(); acceptFinding(skill, finding); } },
        h("input", { class: "input", required: true, maxlength: 500, "aria-label": `Why ${finding.ruleId} is fine here`, placeholder: "Why it is fine here", value: draft(skill, action), oninput: (event) => setDraft(skill, action, event.currentTarget.value) }),
        h(Button, { type: "submit", disabled: isBusy(skill, action) }, "Accept")));
  }));
}

const NOTES = { danger: "note-danger", needs: "note-needs", slate: "", ready: "note-ready" };

function WhyNot({ skill }) {
  const why = reasons(skill);
  if (!why.length) return null;
  return h("div", { class: ["note", NOTES[readinessChip(skill).tone]] }, h("p", null, h("strong", null, "Not ready: "), why.map(sentence).join("; "), ".", skill.fix ? ` ${skill.fix}` : ""),
    h(Blocked, { skill }),
    canSetUp(skill) && h("p", null, h("a", { href: viewLink("setup", { configure: skill.skillKey }) }, "Open System Setup")));
}

// `standing` is where it stands among the sources, where the page knows it.
export function SkillPage({ skill, standing }) {
  fetchFor(skill);
  const state = readinessChip(skill);
  const isHidden = readiness(skill) === "ready" && !skill.modelVisible && !skill.blockedByAgentFilter;
  return h("article", { class: "skill-page" },
    h("header", null, h("h2", { tabindex: -1, class: "skill-title" }, emojiOf(skill), skill.name),
      h("p", { class: "line" }, h(Chip, { tone: state.tone }, state.label), !skill.unread && h(Tag, null, standing ? `${standing.label} · source ${standing.number}` : `${sourceLabel(skill)} · there for ${scopeLabel(skill)}`), skill.always && h(Tag, null, "· always on"), isHidden && h(Tag, null, "· hidden from the model")),
      h("p", { class: "skill-about break" }, shownDetail(skill.name)?.skill?.description ?? skill.description ?? "")),
    h(WhyNot, { skill }),
    skill.unread ? [h(Chain, { name: skill.name }), h(Section, { title: "File" }, h(PathLine, { path: skill.filePath }))]
      : h(Loaded, { of: detail, doing: "The skill could not be read.", rows: 4, later: comesLater("texts"), describe: (value) => (value.skill ? h(Rest, { skill, more: value, standing }) : h("p", { class: "note" }, "The skill is no longer there.")) }));
}

const Section = ({ title, body, children }) => h("section", { class: ["section", body && "library-body"] }, h("h3", null, title), children);

function Rest({ skill, more, standing }) {
  const whole = more.skill;
  return [
    h(Section, { title: "What the agent reads", body: true }, h("div", { class: ["skill-body", !isWhole && whole.body.length > 1_600 && "skill-body-cut"] }, h(Markdown, { level: 4, text: whole.body, claims: claimsOf(skill.name) })),
      whole.body.length > 1_600 && h("div", null, h(Button, { kind: "quiet small", "aria-expanded": String(isWhole), onclick: () => { isWhole = !isWhole; } }, isWhole ? "Show less" : "Show the whole text"))),
    h(Chain, { name: skill.name }),
    h(Section, { title: "Requirements" }, h(Requirements, { skill: whole })),
    h(Section, { title: "Files" }, h(Files, { skill: whole })),
    h(Section, { title: "Where it comes from" }, h(Origin, { skill: whole, shadows: standing?.shadows ?? more.shadows ?? [] })),
    h(Section, { title: "Outline" }, h(Outline, { sections: whole.sections ?? [] })),
    h(Section, { title: "Diagnostics" }, h(Checked, { skill: whole })),
    h(Section, { title: "Still true" }, h(Freshness, { name: skill.name })),
    h(Section, { title: "Proof" }, h(Proof, { name: skill.name })),
    h(Section, { title: "History" }, h(History, { name: skill.name })),
    h(Section, { title: "Use" }, h(Use)),
    h(Section, { title: "Tests" }, h(Tests, { name: skill.name })),
    h(FileView, { skill: whole })];
}

const STAGES = { found: "Found", parsed: "Read", won: "Has its name", eligible: "Usable on this machine", allowed: "Allowed for the agent", model: "Open to the model", prompt: "In the prompt" };

// The way to the model, as `prowess why` tells it; the first step that fails is the answer.
function Chain({ name }) {
  return h("section", { class: "section", key: "chain", "aria-labelledby": "chain-title" }, h("h3", { id: "chain-title" }, `Its way to ${agentName()}'s model`),
    chain.state === "failed" ? h(Failed, { error: chain.error, doing: "The way could not be looked up.", retry: () => chain.reload() })
      : chain.state !== "ready" ? h(Skeleton, { rows: 2 }) : h(Steps, { value: chain.value, name }));
}

function Steps({ value, name }) {
  const first = value.steps.findIndex(({ passed }) => !passed);
  return h("ol", { class: "chain", "aria-label": `How ${name} gets to the model` }, value.steps.map((step, at) => h("li", { key: step.stage, class: ["chain-step", step.passed ? "chain-passed" : at === first ? "chain-failed" : "chain-later"] },
    h(Icon, { name: step.passed ? "check" : at === first ? "close" : "minus" }),
    h("div", null, h("p", null, h("strong", null, STAGES[step.stage] ?? step.stage), h("span", { class: "visually-hidden" }, step.passed ? ": yes. " : at === first ? ": no, this stops it. " : ": no. "), " ", h("span", { class: "break muted" }, step.detail)),
      step.fix && h("p", { class: "meta break" }, step.fix)))));
}

// Only the machine that the page is on can open its files.
const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
const editorLink = (path) => `vscode://file${path.startsWith("/") ? "" : "/"}${path.split(/[\\/]/).map(encodeURIComponent).join("/")}`;

function PathLine({ path, children }) {
  return h("p", { class: "path-line" }, children ?? h("code", { class: "break" }, path),
    h("button", { class: "icon-button", type: "button", "aria-label": `Copy the path ${path}`, title: "Copy the path", onclick: () => copy(path, "The path is copied.") }, h(Icon, { name: "copy" })),
    isHere && h("a", { class: "meta", href: editorLink(path), title: "Open in VS Code" }, "Open in editor", h("span", { class: "visually-hidden" }, `: ${path}`)));
}

function Files({ skill }) {
  const own = skill.filePath.split(/[\\/]/).at(-1);
  const paths = [own, ...(skill.resources ?? [])];
  const folder = skill.filePath.slice(0, -own.length);
  return h("ul", { class: "files" }, paths.map((path) => h("li", { key: path }, h(Icon, { name: "file" }),
    h(PathLine, { path: folder + path }, h("a", { class: "break mono", href: link({ ...place.query, open: path }) }, path)))));
}

function Origin({ skill, shadows }) {
  return h("dl", { class: "facts" },
    h("dt", null, "File"), h("dd", null, h("code", { class: "break" }, skill.filePath)),
    h("dt", null, "Key"), h("dd", null, h("code", null, skill.skillKey)),
    h("dt", null, "Dialect"), h("dd", null, skill.dialect),
    skill.homepage ? [h("dt", null, "Page"), h("dd", null, h(WebLink, { href: skill.homepage }, skill.homepage))] : null,
    h("dt", null, "Content"), h("dd", null, h("code", { title: skill.contentHash }, (skill.contentHash ?? "").slice(0, 12))),
    shadows.length > 0 && [h("dt", null, "Shadows"), h("dd", null, h("ul", { class: "plain" }, shadows.map(({ path, label, identical }) => h("li", { key: path }, h("a", { class: "break", href: viewLink("library", { file: path }) }, path), h("span", { class: "muted" }, `${label ? ` in ${label}` : ""}${identical ? ", the same text" : ""}`)))))]);
}

function Checked({ skill }) {
  const strict = place.query.strict === "1";
  const found = skill.diagnostics ?? [];
  return h("div", { class: "checked" },
    h("div", { class: "line" }, h(ValidateButton, { name: skill.name, strict }), h(StrictChoice, { strict, onchange: (on) => {
      go({ strict: on ? "1" : null }, { replace: true });
      if (isAbout(skill.name)) validate(skill.name, on);
    } })),
    isAbout(skill.name) ? h(ValidationResults, { retry: () => validate(skill.name, strict) }) : found.length ? h(Findings, { findings: found }) : h("p", { class: "muted" }, "Nothing was noticed while it was read."));
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
  isWhole = true;
  const plain = (words) => words.replaceAll(/[`*_\s]/g, "");
  const found = [...document.querySelectorAll(".library-body .prose :is(h2, h3, h4)")].filter((node) => plain(node.textContent) === plain(title))[turn];
  if (!found) return;
  found.tabIndex = -1;
  found.scrollIntoView({ block: "start" });
  found.focus({ preventScroll: true });
}


function FileView({ skill }) {
  const path = place.query.open;
  if (!path) return null;
  want(file, { agent: agentId(), name: skill.name, path });
  const close = () => go({ open: null }, { replace: true });
  const text = file.value?.kind === "text" ? file.value.text : "";
  return h(Dialog, { key: "file", label: `File ${path}`, wide: true, onclose: close },
    h("div", { class: "dialog-head configure-head" }, h("div", null, h("h2", { class: "configure-title mono", tabindex: -1, autofocus: true }, path), h("p", { class: "meta" }, skill.name, file.value?.size ? ` · ${bytes(file.value.size)}` : "")),
      text && h(Button, { icon: "copy", onclick: () => copy(text, "The text is copied.") }, "Copy"),
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

const KINDS = { validation: "File", scan: "Scanner", freshness: "Still true", triggers: "Message" };

function TestRow({ test, at }) {
  return h("li", { key: `${test.kind} ${at}`, class: "test" },
    h("span", { class: ["test-mark", test.passed ? "test-passed" : "test-failed"] }, h(Icon, { name: test.passed ? "check" : "close" }), h("span", { class: "visually-hidden" }, test.passed ? "Passed: " : "Failed: ")),
    h("div", null, h("p", { class: "break" }, h("span", { class: "muted" }, KINDS[test.kind] ?? test.kind), " ", test.kind === "triggers" ? `“${test.name}”` : ""),
      [...test.failures, ...test.notes].map((words) => h("p", { key: words, class: "meta break" }, words))));
}

function Outcome({ name }) {
  if (results.asked?.name !== name || results.asked.agent !== agentId()) return null;
  if (results.state === "failed") return h(Failed, { error: results.error, doing: "The tests did not run.", retry: () => results.reload() });
  if (results.state !== "ready") return h(Skeleton, { rows: 2, label: "The tests run" });
  const { tests: found, problems } = results.value;
  const passed = found.filter((test) => test.passed).length;
  return [h("p", { role: "status" }, passed === found.length && !problems.length ? `${found.length === 1 ? "Its test passes" : `All ${found.length} tests pass`} with ${agentName()}.` : `${passed} of ${count(found.length, "test")} pass with ${agentName()}.`),
    problems.map((problem) => h("p", { key: problem, class: "note note-danger break" }, problem)),
    h("ul", { class: "tests", "aria-label": `Tests of ${name}` }, found.map((test, at) => h(TestRow, { test, at })))];
}

// Messages that are saved about it, and all that can be tried without a key, those beside its file included.
function Tests({ name }) {
  const run = h("div", { class: "line" }, h(Button, { busy: results.busy && results.asked?.name === name, disabled: gateway.state !== "live", onclick: () => results.load({ agent: agentId(), name }) }, `Run the tests of ${name}`), h("span", { class: "meta" }, "its file, the scanner, what it names, and messages"));
  return h("div", { class: "checked" }, run, h(Outcome, { name }), h(SavedTests, { name }));
}

function SavedTests({ name }) {
  if (tests.state !== "ready") return h("p", { class: "muted" }, tests.state === "failed" ? tests.error.message : "…");
  const own = tests.value.tests.filter((test) => test.name === name);
  if (!own.length) return h("p", { class: "muted" }, "No saved message is about it. ", h("a", { href: viewLink("router") }, "Try one in the router"), ".");
  return h("ul", { class: "plain" }, own.map((test) => h("li", { key: test.id, class: "break" }, `“${test.message}” `, h("span", { class: "muted" }, test.should ? "should load it" : "should not load it"))));
}

// What is shown is fetched again when something about skills changed.
for (const event of ["connected", "skills.changed", "config.changed", "skills.proposal"]) {
  follow(event, () => {
    results.outdate();
    if (place.query.skill && chain.asked?.name === place.query.skill) for (const one of [detail, chain, history, usage, tests, fresh, proof, file]) one.reload();
  });
}
