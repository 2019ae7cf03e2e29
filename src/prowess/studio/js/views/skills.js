// Skills: what the selected agent can use. The only thing that can be changed here is whether this
// agent may use a skill; everything that installs, stores or removes is on System setup.

import { access, changeAccess, isAllowed, ownList, toggled } from "../access.js";
import { agentId, agentName, comesLater, config, configProblem, follow, report, skills } from "../app.js";
import { h, redraw } from "../dom.js";
import { Button, Chip, Empty, Filters, Loaded, PageHead, Tag, Toggle } from "../parts/basics.js";
import { Icon } from "../parts/icon.js";
import { WindowedList } from "../parts/list.js";
import { SkillPage } from "../parts/skill_page.js";
import { go, place, viewLink } from "../place.js";
import { complain, toast } from "../toasts.js";
import { agentChip, agentState, canSetUp, count, emojiOf, firstReason, matchesSearch, shortReason, sourceLabel } from "../words.js";

const list = new WindowedList({ rowHeight: 60 });
const FILTERS = [["all", "All"], ["ready", "Ready"], ["setup", "Setup required"], ["unsupported", "Not supported"]];

// What the person asked for and the gateway has not confirmed: by agent and skill.
const hoped = new Map();
let allBusy = "";
const keyOf = (skill) => `${skill.source}/${skill.skillKey}`;
const hopeOf = (skill) => hoped.get(`${agentId()} ${keyOf(skill)}`);

const current = () => access(config.value?.parsed, agentId());
// A config that cannot be read says nothing: then the gateway's own answer counts.
const isStored = (skill) => (configProblem() ? !skill.blockedByAgentFilter : isAllowed(current(), skill));
const isOn = (skill) => hopeOf(skill) ?? isStored(skill);
const canChange = () => config.state === "ready" && !configProblem();

function found() {
  const searched = skills().filter((skill) => matchesSearch(skill, place.query.q ?? ""));
  const wanted = filter();
  return { searched, shown: wanted === "all" ? searched : searched.filter((skill) => agentState(skill) === wanted) };
}

const filter = () => (FILTERS.some(([id]) => id === place.query.filter) ? place.query.filter : "all");

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// The way back concerns the agent that was changed, whoever is shown by then. `undone` is the change
// that is taken back: where nothing was changed since, the list becomes what it was, or none.
async function change(skill, on, { agent = agentId(), names = skills().map((one) => one.name), undone = null } = {}) {
  const name = `${agent} ${keyOf(skill)}`;
  const done = { before: null, after: null };
  hoped.set(name, on);
  redraw();
  try {
    await changeAccess(agent, (stored) => {
      done.before = ownList(stored);
      done.after = undone && isSame(done.before, undone.after) ? undone.before : toggled(stored, skill, on, names);
      return done.after;
    });
    // What the gateway says from now on counts, not what was hoped for.
    await config.reload();
    toast(`${agentName(agent)} ${on ? "may use" : "no longer uses"} ${skill.name}.`, { action: { label: "Undo", run: () => change(skill, !on, { agent, names, undone: done }) } });
  } catch (error) {
    complain(error, `${skill.name} was not changed.`, skill.name);
  } finally {
    hoped.delete(name);
    redraw();
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
    await config.reload();
    toast(saysOf(agent, wanted), { action: { label: "Undo", run: () => changeAll("undo", back, agent) } });
  } catch (error) {
    complain(error, "Nothing was changed.", `The list of ${agentName(agent)}`);
  } finally {
    allBusy = "";
    redraw();
  }
}

function saysOf(agent, list) {
  if (list === null) return `${agentName(agent)} has no list of its own any more.`;
  return list.length ? `${agentName(agent)} has its list of ${count(list.length, "skill")} back.` : `${agentName(agent)} uses no skill.`;
}

// Without a list of its own an agent takes the defaults, where there are some.
const hasDefaults = () => Array.isArray(config.value?.parsed?.agents?.defaults?.skills);

function ScopeNote() {
  const { mode, inherited, names } = current();
  if (!canChange()) return null;
  const known = new Set(skills().flatMap((skill) => [skill.name, skill.skillKey]));
  const strangers = report.state === "ready" ? names.filter((name) => !known.has(name)) : [];
  const said = {
    all: "No list: every skill is on, and new ones will be. Switching one off writes a list of the others.",
    none: "The list is empty: this agent uses no skill.",
    selected: "Only the listed skills are used; new ones have to be switched on.",
  }[mode];
  return h("p", { class: "scope-note" }, inherited ? h(Chip, { tone: "accent" }, "Inherited from the defaults") : null, " ", said,
    inherited ? " Switching one gives this agent a list of its own." : null,
    strangers.length > 0 && ` Listed but not found: ${strangers.join(", ")}.`);
}

function Row(skill, attributes) {
  const state = agentChip(skill);
  const reason = firstReason(skill);
  const isChosen = place.query.skill === skill.name;
  const on = isOn(skill);
  return h("div", { ...attributes, class: ["row", isChosen && "row-chosen", !on && "row-off"], "data-skill": skill.name, onclick: (event) => event.target.closest("a, button") || go({ skill: skill.name }) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("a", { href: viewLink("skills", { ...place.query, skill: skill.name }) }, emojiOf(skill), skill.name),
        h(Chip, { tone: state.tone, title: reason ? `${skill.name} ${reason}` : "" }, state.label), h(Tag, null, sourceLabel(skill))),
      agentState(skill) === "ready"
        ? h("p", { class: "row-about" }, skill.description)
        : h("p", { class: "row-about row-reason" }, h("span", null, shortReason(skill)),
          canSetUp(skill) && h("a", { class: "row-setup", href: viewLink("setup", { configure: skill.skillKey }) }, "Open System Setup"))),
    h(Switch, { skill, on }));
}

const Switch = ({ skill, on }) => h(Toggle, {
  label: `Skill ${skill.name}`, on, busy: hopeOf(skill) !== undefined || Boolean(allBusy),
  disabled: agentState(skill) === "unsupported" || !canChange(), onchange: (wanted) => change(skill, wanted),
});

function List({ shown }) {
  if (!skills().length) return h(Empty, { title: "No skills here yet.", command: "prowess load --all" }, "Put a folder with a SKILL.md below skills/ in the workspace, or copy the bundled ones.");
  if (!shown.length) return h(Empty, { title: "No skill matches.", action: h(Button, { onclick: () => go({ q: null, filter: null }) }, "Show all skills") });
  return list.view({ items: shown, keyOf, row: Row, label: `Skills of ${agentName()}` });
}

// Two numbers that say different things: what works at this moment, and what its list lets it use.
function scope() {
  const whose = `What ${agentName()} can use`;
  if (report.state !== "ready") return whose;
  const on = skills().filter(isOn);
  const usable = on.filter((skill) => agentState(skill) === "ready").length;
  const numbers = config.state === "ready" ? ` · ${usable} usable now · ${on.length} of ${skills().length} allowed.` : ".";
  return `${whose}${numbers} ${configProblem() ? "Nothing can be changed until the config is mended." : `Changes here affect ${agentName()} alone.`}`;
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
  requestAnimationFrame(() => requestAnimationFrame(later));
}

// A link names a skill that may stand far down: its row is brought into sight, once.
let revealed = "";

function revealChosen(shown) {
  const at = shown.findIndex((skill) => skill.name === place.query.skill);
  const key = at < 0 ? "" : `${agentId()} ${shown[at].name}`;
  if (key && key !== revealed) requestAnimationFrame(() => list.reveal(at));
  revealed = key;
}

function Detail({ chosen, shown }) {
  const { skill: name } = place.query;
  const ready = report.state === "ready";
  if (chosen) return [h("div", { class: "split-top" }, h("button", { class: "button quiet split-back", onclick: leave }, h(Icon, { name: "back" }), "All skills"), h("span", { class: "split-switch meta" }, `${agentName()} may use it`, h(Switch, { skill: chosen, on: isOn(chosen) }))), h(SkillPage, { skill: chosen })];
  if (name && ready) return h(Stranger, { name });
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, ready ? `${count(shown.length, "skill")} shown` : comesLater() ? "Waiting for the connection" : "Loading"), ready && h("p", null, "Choose one to see what it needs, where it comes from and what it says."));
}

function describe() {
  const { searched, shown } = found();
  const ready = report.state === "ready";
  const cannot = !ready || !canChange() || Boolean(allBusy);
  const options = FILTERS.map(([id, label]) => ({ id, label, count: ready ? (id === "all" ? searched : searched.filter((skill) => agentState(skill) === id)).length : undefined }));
  const chosen = skills().find((skill) => skill.name === place.query.skill);
  const isOpen = Boolean(chosen || (ready && place.query.skill));
  if (ready) revealChosen(shown);
  return [
    h("div", { class: isOpen ? "skills-head-open" : "" }, h(PageHead, { title: "Skills", scope: scope() },
      h(Button, { busy: allBusy === "all", disabled: cannot || current().mode === "all" || current().inherited, onclick: () => changeAll("all", null) }, hasDefaults() ? "Use the defaults" : "Use all"),
      h(Button, { busy: allBusy === "none", disabled: cannot || (current().mode === "none" && !current().inherited), onclick: () => changeAll("none", []) }, "Disable all"))),
    h("div", { class: ["list-head", isOpen && "list-head-away"] }, h(Filters, { label: "Status", options, value: filter(), disabled: !ready, onchange: (id) => go({ filter: id === "all" ? null : id }, { replace: true }) }), h(ScopeNote)),
    h("div", { class: ["split", isOpen && "split-chosen"] },
      h("div", { class: "split-list" }, h(Loaded, { of: report, doing: "The skills could not be read.", rows: 9, later: comesLater(), describe: () => h(List, { shown }) })),
      h("section", { class: "split-detail", key: chosen?.name ?? "none", "aria-label": chosen ? `About ${chosen.name}` : "No skill chosen" }, h(Detail, { chosen, shown })))];
}

function move(step) {
  const { shown } = found();
  const at = shown.findIndex((skill) => skill.name === place.query.skill);
  const next = Math.min(shown.length - 1, Math.max(0, at + step));
  if (!shown[next]) return;
  go({ skill: shown[next].name }, { replace: true });
  list.reveal(next);
}

function keys() {
  const chosen = skills().find((skill) => skill.name === place.query.skill);
  return {
    j: () => move(1),
    k: () => move(-1),
    x: () => chosen && canChange() && agentState(chosen) !== "unsupported" && hopeOf(chosen) === undefined && change(chosen, !isOn(chosen)),
    Enter: () => document.querySelector(".split-detail h2")?.focus(),
    Escape: () => place.query.skill && leave(),
  };
}

follow("connected", () => hoped.clear());

export const skillsView = { label: "Skills", search: "Search skills", describe, keys };
