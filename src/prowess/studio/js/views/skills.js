// Skills: what the selected agent can use. The only thing that can be changed here is whether this
// agent may use a skill; everything that installs, stores or removes is on System setup.

import { access, changeAccess, isAllowed, ownList, toggled } from "../access.js";
import { agentId, agentList, agentName, comesLater, config, configProblem, everything, follow, gateway, report, skillOf, skills, unread, want, wantDetails } from "../app.js";
import { focusDrawn, h, onceDrawn, redraw, remembered } from "../dom.js";
import { LiveAnswer } from "../live_answer.js";
import { Button, Chip, Choice, Empty, Filters, Loaded, PageHead, Tag, Toggle } from "../parts/basics.js";
import { Icon } from "../parts/icon.js";
import { WindowedList } from "../parts/list.js";
import { Matrix } from "../parts/matrix.js";
import { SkillMap } from "../parts/skill_map.js";
import { SkillPage } from "../parts/skill_page.js";
import { go, place, viewLink } from "../place.js";
import { preference, prefer } from "../preferences.js";
import { Resource } from "../resource.js";
import { complain, toast } from "../toasts.js";
import { canSetUp, count, FILTER_OF, HARNESSES, filterFor, filterOptions, firstReason, isUnsupported, matchesSearch, readiness, readinessChip, READINESS, shortReason, sourceLabel, tally } from "../words.js";

const TALL = 52;
const LOW = 36;
const list = new WindowedList({ rowHeight: TALL });

// What the person asked for and the gateway has not confirmed: by agent and skill.
const hoped = new Map();
let hopes = 0;
let allBusy = "";
const keyOf = (skill) => (skill.heading ? `heading ${skill.heading}` : `${skill.unread ?? skill.source}/${skill.skillKey}/${skill.name}`);
const hopeOf = (skill) => hoped.get(`${agentId()} ${keyOf(skill)}`);
function hope(name, on) {
  if (on === null) hoped.delete(name);
  else hoped.set(name, on);
  hopes += 1;
  redraw();
}

const current = () => access(config.value?.parsed, agentId());
// A config that cannot be read says nothing: then the gateway's own answer counts.
const isStored = (skill) => (configProblem() ? !skill.blockedByAgentFilter : isAllowed(current(), skill));
const isOn = (skill) => hopeOf(skill) ?? isStored(skill);
const canChange = () => config.state === "ready" && !configProblem();

// What the skills say of themselves is searched by the gateway, by letters and by meaning.
const letters = new LiveAnswer(({ agent, query }) => gateway.request("skills.match", { agentId: agent, query }));
const meaning = new LiveAnswer(({ agent, query }) => gateway.request("skills.route", { agentId: agent, message: query, limit: 5, dryRun: true, notReady: true }));
const LONGEST = 200;
const query = () => (place.query.q ?? "").trim().slice(0, LONGEST);

function search() {
  const asked = { agent: agentId(), query: query() };
  for (const one of [letters, meaning]) {
    if (!asked.query || gateway.state !== "live") one.forget();
    else if (JSON.stringify(one.asked) !== JSON.stringify(asked)) one.want(asked);
  }
}

const isAnswered = (one) => one.value && one.asked?.query === query() && one.asked.agent === agentId();

// Names in the order of the router, of those that it would load or offer, and of those that only
// something else keeps away.
function meant() {
  if (!query() || !isAnswered(meaning)) return [];
  const { matches, notReady } = meaning.value;
  return [...new Set([...matches, ...notReady].map(({ name }) => name))].filter((name) => skillOf(name));
}

const searched = remembered((rows, wanted, said, meanings) => {
  if (!wanted) return rows;
  const small = wanted.toLowerCase();
  const known = new Set([...said, ...meanings]);
  return rows.filter((skill) => known.has(skill.name) || matchesSearch(skill, small));
});
const said = remembered((value) => value?.names ?? []);
const meantNames = remembered((joined) => (joined ? joined.split("\n") : []));
const found = () => searched(everything(), query(), said(isAnswered(letters) ? letters.value : null), meantNames(meant().join("\n")));
const meantAlone = remembered((names, words, small) => new Set(names.filter((name) => !words.includes(name) && !matchesSearch(skillOf(name), small))));
// What only its meaning brought up, which nobody would see from its letters.
const byMeaning = () => meantAlone(meantNames(meant().join("\n")), said(isAnswered(letters) ? letters.value : null), query().toLowerCase());
const numbersOf = remembered(tally);

const USES = [["", "On and off"], ["on", "On"], ["off", "Off"]];
const GROUPS = { source: ["Source", sourceLabel], state: ["State", (skill) => readinessChip(skill).label] };
const SORTS = { "": ["Name", null], state: ["State", (skill) => Object.keys(READINESS).indexOf(readiness(skill))] };

// Harnesses read folders of their own; which of these skills one of them lists is asked for once it is chosen.
const listed = new Resource((asked) => gateway.request("skills.listed", asked, { timeout: 60_000 }));
const READERS = ["claude-code", "codex", "cursor", "gemini", "copilot", "vscode", "qwen", "opencode", "openclaw"];
const harness = () => (READERS.includes(place.query.harness) ? place.query.harness : "");
const listedNames = remembered((value) => new Set(value?.names ?? []));

const chosenRows = remembered((rows, filter, use, source, reads, groupBy, sortBy, isSearch, order, _config, _agent, _hopes) => {
  let kept = rows;
  if (filter !== "all") kept = kept.filter((skill) => FILTER_OF[readiness(skill)] === filter);
  if (use) kept = kept.filter((skill) => !skill.unread && isOn(skill) === (use === "on"));
  if (source) kept = kept.filter((skill) => !skill.unread && sourceLabel(skill) === source);
  if (reads) kept = kept.filter((skill) => !skill.unread && reads.has(skill.name));
  const by = SORTS[sortBy]?.[1];
  if (by) kept = [...kept].sort((one, other) => by(one) - by(other));
  if (isSearch && order.length) kept = [...kept].sort((one, other) => place_(order, one) - place_(order, other));
  return groupBy ? grouped(kept, GROUPS[groupBy][1]) : kept;
});
const place_ = (order, { name }) => (order.includes(name) ? order.indexOf(name) : order.length);

function grouped(rows, labelOf) {
  const groups = new Map();
  for (const row of rows) {
    const label = row.unread ? "Not loaded" : labelOf(row);
    if (!groups.has(label)) groups.set(label, []);
    groups.get(label).push(row);
  }
  return [...groups].sort(([one], [other]) => one.localeCompare(other)).flatMap(([heading, members]) => [{ heading, number: members.length }, ...members]);
}

const groupBy = () => (Object.hasOwn(GROUPS, place.query.group ?? "") ? place.query.group : "");
const filter = () => filterFor(place.query.filter);
const shown = () => chosenRows(found(), filter(), place.query.use ?? "", place.query.source ?? "", harness() ? listedNames(listed.value) : null, groupBy(), place.query.sort ?? "", Boolean(query()), meantNames(meant().join("\n")), config.value, agentId(), hopes);
const shownSkills = () => shown().filter(({ heading }) => !heading);
const sourcesOf = remembered((all) => [...new Set(all.map(sourceLabel))].sort());

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// The way back concerns the agent that was changed, whoever is shown by then. `undone` is the change
// that is taken back: where nothing was changed since, the list becomes what it was, or none.
async function change(skill, on, { agent = agentId(), names = skills().map((one) => one.name), undone = null } = {}) {
  const name = `${agent} ${keyOf(skill)}`;
  const done = { before: null, after: null };
  hope(name, on);
  try {
    await changeAccess(agent, (stored) => {
      done.before = ownList(stored);
      done.after = undone && isSame(done.before, undone.after) ? undone.before : toggled(stored, skill, on, names);
      return done.after;
    });
    toast(`${agentName(agent)} ${on ? "may use" : "no longer uses"} ${skill.name}.`, { action: { label: "Undo", run: () => change(skill, !on, { agent, names, undone: done }) } });
  } catch (error) {
    complain(error, `${skill.name} was not changed.`, skill.name);
  } finally {
    // What the gateway says from now on counts, not what was hoped for.
    hope(name, null);
  }
}

async function changeAll(kind, wanted, agent = agentId()) {
  let back = null;
  allBusy = kind;
  redraw();
  try {
    await changeAccess(agent, (stored) => {
      back = ownList(stored);
      return wanted;
    });
    toast(saysOf(agent, wanted), { action: { label: "Undo", run: () => changeAll("undo", back, agent) } });
  } catch (error) {
    complain(error, "Nothing was changed.", `The list of ${agentName(agent)}`);
  } finally {
    allBusy = "";
    redraw();
  }
}

function saysOf(agent, wanted) {
  if (wanted === null) return `${agentName(agent)} has no list of its own any more.`;
  return wanted.length ? `${agentName(agent)} has its list of ${count(wanted.length, "skill")} back.` : `${agentName(agent)} uses no skill.`;
}

// Without a list of its own an agent takes the defaults, where there are some.
const hasDefaults = () => Array.isArray(config.value?.parsed?.agents?.defaults?.skills);
const strangersOf = remembered((names, all) => {
  const known = new Set(all.flatMap((skill) => [skill.name, skill.skillKey]));
  return names.filter((name) => !known.has(name));
});

function ScopeNote() {
  const { mode, inherited, names } = current();
  if (!canChange()) return null;
  const strangers = report.state === "ready" ? strangersOf(names, skills()) : [];
  const words = {
    all: "No list: every skill is on, and new ones will be. Switching one off writes a list of the others.",
    none: "The list is empty: this agent uses no skill.",
    selected: "Only the listed skills are used; new ones have to be switched on.",
  }[mode];
  return h("p", { class: "scope-note" }, inherited ? h(Chip, { tone: "accent" }, "Inherited from the defaults") : null, " ", words,
    inherited ? " Switching one gives this agent a list of its own." : null,
    strangers.length > 0 && ` Listed but not found: ${strangers.join(", ")}.`);
}

const isLow = () => preference("rows") === "low";

function Row(skill, attributes) {
  if (skill.heading) return h("div", { ...attributes, class: "row row-heading" }, h("h2", null, skill.heading), h("span", { class: "meta" }, skill.number.toLocaleString("en")));
  const state = readiness(skill);
  const { label, tone } = readinessChip(skill);
  const reason = firstReason(skill);
  const on = !skill.unread && isOn(skill);
  const isReady = state === "ready";
  return h("div", { ...attributes, class: ["row", place.query.skill === skill.name && "row-chosen", !on && !skill.unread && "row-off"], "data-skill": skill.name, "data-state": state, onclick: (event) => event.target.closest("a, button") || go({ skill: skill.name }) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("a", { href: viewLink("skills", { ...place.query, skill: skill.name }) }, skill.name),
        !isReady && h(Chip, { tone, title: reason ? `${skill.name} ${reason}` : "" }, label),
        isReady && skill.cutFromPrompt && h(Chip, { tone: "needs", title: "It can be asked for by name; the list that the model sees has no room for it." }, "Cut from the prompt"),
        isReady && !skill.modelVisible && !skill.blockedByAgentFilter && h(Chip, { tone: "slate", title: "Its file keeps it from the model (disable-model-invocation)." }, skill.userInvocable ? "By command only" : "Offered to nobody"),
        byMeaning().has(skill.name) && h(Tag, { title: "Found by what it means" }, "by meaning"), groupBy() !== "source" && !skill.unread && h(Tag, null, sourceLabel(skill))),
      isReady
        ? h("p", { class: "row-about" }, skill.description ?? "")
        : h("p", { class: "row-about row-reason" }, h("span", null, shortReason(skill)),
          canSetUp(skill) && h("a", { class: "row-setup", href: viewLink("setup", { configure: skill.skillKey }) }, "Open System Setup"))),
    skill.unread ? null : h(Switch, { skill, on }));
}

const Switch = ({ skill, on }) => h(Toggle, {
  label: `Skill ${skill.name}`, on, busy: hopeOf(skill) !== undefined || Boolean(allBusy),
  disabled: isUnsupported(skill) || !canChange(), onchange: (wanted) => change(skill, wanted),
});

function List({ rows }) {
  if (!skills().length && !unread().length) return h(Empty, { title: "No skills here yet.", command: "prowess load --all" }, "Put a folder with a SKILL.md below skills/ in the workspace, or copy the bundled ones.");
  if (!rows.length) return h(Empty, { title: "No skill matches.", action: h(Button, { onclick: () => go({ q: null, filter: null, use: null, source: null, harness: null }) }, "Show all skills") });
  list.rowHeight = isLow() ? LOW : TALL;
  return list.view({ items: rows, keyOf, row: Row, label: `Skills of ${agentName()}`, drawn: (some) => wantDetails(some.filter(({ heading }) => !heading)) });
}

const usableOf = remembered((all, _config, _agent, _hopes) => {
  const on = all.filter(isOn);
  return { on: on.length, usable: on.filter((skill) => readiness(skill) === "ready").length };
});
export const usableNow = () => usableOf(skills(), config.value, agentId(), hopes).usable;

// Two numbers that say different things: what works at this moment, and what its list lets it use.
function scope() {
  const whose = `What ${agentName()} can use`;
  if (report.state !== "ready") return whose;
  const { on, usable } = usableOf(skills(), config.value, agentId(), hopes);
  const numbers = config.state === "ready" ? ` · ${usable.toLocaleString("en")} usable now · ${on.toLocaleString("en")} of ${skills().length.toLocaleString("en")} allowed.` : ".";
  const lost = unread().length ? ` ${count(unread().length, "file")} not loaded.` : "";
  return `${whose}${numbers}${lost} ${configProblem() ? "Nothing can be changed until the config is mended." : isMatrix() ? "Each switch affects the agent of its column." : `Changes here affect ${agentName()} alone.`}`;
}

// A link may name a skill that is not there, and one that is shown may be taken away.
function Stranger({ name }) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, `${agentName()} has no skill called “${name}”.`),
    h("p", null, "It may have been renamed or removed, or it belongs to another agent's workspace."), h(Button, { onclick: leave }, "Show all skills"));
}

// The keyboard goes on at the row that was open.
function leave() {
  const name = place.query.skill;
  go({ skill: null });
  const later = () => document.activeElement === document.body && ([...document.querySelectorAll("[data-skill]")].find((row) => row.dataset.skill === name)?.querySelector("a") ?? document.getElementById("page-title"))?.focus();
  onceDrawn(later);
}

// A link names a skill that may stand far down: its row is brought into sight, once.
let revealed = "";

function revealChosen(rows) {
  const name = place.query.skill;
  const key = name && report.state === "ready" ? `${agentId()} ${name}` : "";
  if (key && key !== revealed) {
    const at = rows.findIndex((skill) => skill.name === name);
    if (at >= 0) requestAnimationFrame(() => list.reveal(at, { middle: true }));
  }
  revealed = key;
}

const chosenSkill = () => place.query.skill && (skillOf(place.query.skill) ?? unread().find(({ name }) => name === place.query.skill));

// Files that are no skill for anybody are rows, too, and are counted for what they are.
function shownWords(rows) {
  const members = rows.filter(({ heading }) => !heading);
  const lost = members.filter(({ unread: isUnread }) => isUnread).length;
  return [count(members.length - lost, "skill"), lost && `${count(lost, "file")} not loaded`].filter(Boolean).join(" and ");
}

function Detail({ chosen, rows }) {
  const { skill: name } = place.query;
  const ready = report.state === "ready";
  if (chosen) return [h("div", { class: "split-top" }, h("button", { class: "button quiet split-back", onclick: leave }, h(Icon, { name: "back" }), "All skills"), !chosen.unread && h("span", { class: "split-switch meta" }, `${agentName()} may use it`, h(Switch, { skill: chosen, on: isOn(chosen) }))), h(SkillPage, { skill: chosen })];
  if (name && ready) return h(Stranger, { name });
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, ready ? shownWords(rows) : comesLater() ? "Waiting for the connection" : "Loading"), ready && h("p", null, "Choose one to see what it says, what it needs and where it comes from."));
}

const step = (key) => (value) => go({ [key]: value || null }, { replace: true });

function Choices() {
  const sources = sourcesOf(skills());
  return h("div", { class: "choices" },
    h(Choice, { label: "Use", value: place.query.use ?? "", options: USES, onchange: step("use") }),
    sources.length > 1 && h(Choice, { label: "Source", value: place.query.source ?? "", options: [["", "Every source"], ...sources.map((name) => [name, name])], onchange: step("source") }),
    h(Choice, { label: "Harness", value: harness(), options: [["", "Every harness"], ...READERS.map((id) => [id, `${HARNESSES[id]} lists it`])], onchange: step("harness") }),
    h(Choice, { label: "Group", value: groupBy(), options: [["", "No groups"], ...Object.entries(GROUPS).map(([id, [label]]) => [id, `By ${label.toLowerCase()}`])], onchange: step("group") }),
    h(Choice, { label: "Sort", value: place.query.sort ?? "", options: Object.entries(SORTS).map(([id, [label]]) => [id, `Sort by ${label.toLowerCase()}`]), onchange: step("sort") }),
    h("button", { class: "button quiet", type: "button", "aria-pressed": String(isLow()), onclick: () => prefer("rows", isLow() ? "" : "low") }, "Compact"),
    agentList().length > 1 && h("button", { class: "button quiet", type: "button", "aria-pressed": String(isMatrix()), onclick: () => go({ show: isMatrix() ? null : "agents", skill: null }) }, "By agent"),
    h("button", { class: "button quiet", type: "button", "aria-pressed": String(isMap()), onclick: () => go({ show: isMap() ? null : "map", skill: null }) }, "Map"));
}

const isNarrowed = () => Boolean(query() || filter() !== "all" || place.query.use || place.query.source || harness());
const isMap = () => place.query.show === "map" && !place.query.skill;
const isMatrix = () => place.query.show === "agents" && !place.query.skill && agentList().length > 1;

// What is searched for may be a whole message: then the router says more than a list.
function RouteThis() {
  return query().includes(" ") ? h("a", { class: "route-this", href: viewLink("router", { m: query() }) }, h(Icon, { name: "router" }), "Route this message") : null;
}

function describe() {
  search();
  if (harness() && agentId()) want(listed, { agentId: agentId(), harness: harness() });
  const rows = shown();
  const ready = report.state === "ready";
  const cannot = !ready || !canChange() || Boolean(allBusy);
  const chosen = chosenSkill();
  const isOpen = Boolean(chosen || (ready && place.query.skill));
  if (ready) revealChosen(rows);
  return [
    h("div", { class: isOpen ? "skills-head-open" : "" }, h(PageHead, { title: "Skills", scope: scope() },
      h(Button, { busy: allBusy === "all", disabled: cannot || current().mode === "all" || current().inherited, onclick: () => changeAll("all", null) }, hasDefaults() ? "Use the defaults" : "Use all"),
      h(Button, { busy: allBusy === "none", disabled: cannot || (current().mode === "none" && !current().inherited), onclick: () => changeAll("none", []) }, "Disable all"))),
    h("div", { class: ["list-head", isOpen && "list-head-away"] },
      h("div", { class: "list-tools" }, h(Filters, { label: "Status", options: filterOptions(ready ? numbersOf(found()) : null, filter()), value: filter(), disabled: !ready, onchange: (id) => go({ filter: id === "all" ? null : id }, { replace: true }) }), h(Choices)), h(ScopeNote), h(RouteThis)),
    isMap() ? h(SkillMap, { among: isNarrowed() ? new Set(shownSkills().map(({ name }) => name)) : null }) : isMatrix() && ready ? h(Matrix, { key: "matrix", rows, isAllowed: (agent, skill) => isAllowed(access(config.value?.parsed, agent), skill), canChange: canChange(), change: (agent, skill, on, names) => change(skill, on, { agent, names }), hopeOf: (agent, skill) => hoped.get(`${agent} ${keyOf(skill)}`) }) :
    h("div", { class: ["split", isOpen && "split-chosen", isLow() && "split-low"] },
      h("div", { class: "split-list" }, h(Loaded, { of: report, doing: "The skills could not be read.", rows: 9, later: comesLater(), describe: () => (harness() && listed.state !== "ready" ? h(Loaded, { of: listed, doing: "The list of the harness could not be made.", rows: 9, later: comesLater() }) : h(List, { rows })) })),
      h("section", { class: "split-detail", key: chosen?.name ?? "none", "aria-label": chosen ? `About ${chosen.name}` : "No skill chosen" }, h(Detail, { chosen, rows })))];
}

function move(by) {
  const rows = shown();
  const members = shownSkills();
  const at = members.findIndex((skill) => skill.name === place.query.skill);
  const next = members[Math.min(members.length - 1, Math.max(0, at + by))];
  if (!next) return;
  go({ skill: next.name }, { replace: true });
  list.reveal(rows.indexOf(next));
}

// Each Escape takes one step back: the skill, then the search, then the filters.
function undo() {
  if (place.query.skill) leave();
  else if (place.query.q) go({ q: null }, { replace: true });
  else if (isMatrix() || isMap()) go({ show: null }, { replace: true });
  else go({ filter: null, use: null, source: null, harness: null, group: null, sort: null }, { replace: true });
}

function keys() {
  const chosen = chosenSkill();
  return {
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => chosen && canChange() && !isUnsupported(chosen) && hopeOf(chosen) === undefined && change(chosen, !isOn(chosen)),
    Enter: () => focusDrawn(".split-detail h2"),
    Escape: undo,
  };
}

follow("skills.changed", () => listed.reload());
follow("connected", () => {
  listed.clear();
  hoped.clear();
  hopes += 1;
  letters.forget();
  meaning.forget();
});

export const skillsView = { label: "Skills", search: "Search skills by letters or meaning", describe, keys };
