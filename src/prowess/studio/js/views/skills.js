// Skills: what the selected agent can use. The only thing that can be changed here is whether this
// agent may use a skill; everything that installs, stores or removes is on System setup.

import { access, changeAccess, isAllowed, toggled } from "../access.js";
import { agentId, agentName, config, follow, report, skills } from "../app.js";
import { h, redraw } from "../dom.js";
import { Button, Chip, Empty, Filters, Loaded, PageHead, Tag, Toggle } from "../parts/basics.js";
import { Icon } from "../parts/icon.js";
import { WindowedList } from "../parts/list.js";
import { SkillPage } from "../parts/skill_page.js";
import { go, place, viewLink } from "../place.js";
import { complain, toast } from "../toasts.js";
import { AGENT_STATES, agentState, count, firstReason, matchesSearch, sourceLabel } from "../words.js";

const list = new WindowedList({ rowHeight: 60 });
const FILTERS = [["all", "All"], ["ready", "Ready"], ["setup", "Setup required"], ["unsupported", "Not supported"]];

// What the person asked for and the gateway has not confirmed: by agent and skill.
const hoped = new Map();
let allBusy = "";
const keyOf = (skill) => `${skill.source}/${skill.skillKey}`;
const hopeOf = (skill) => hoped.get(`${agentId()} ${keyOf(skill)}`);

const current = () => access(config.value?.parsed, agentId());
const isOn = (skill) => hopeOf(skill) ?? isAllowed(current(), skill);

function found() {
  const searched = skills().filter((skill) => matchesSearch(skill, place.query.q ?? ""));
  const wanted = filter();
  return { searched, shown: wanted === "all" ? searched : searched.filter((skill) => agentState(skill) === wanted) };
}

const filter = () => (FILTERS.some(([id]) => id === place.query.filter) ? place.query.filter : "all");

// The way back concerns the agent that was changed, whoever is shown by then.
async function change(skill, on, agent = agentId(), names = skills().map((one) => one.name)) {
  const name = `${agent} ${keyOf(skill)}`;
  hoped.set(name, on);
  redraw();
  try {
    await changeAccess(agent, (stored) => toggled(stored, skill, on, names));
    // What the gateway says from now on counts, not what was hoped for.
    await config.reload();
    toast(`${agentName(agent)} ${on ? "may use" : "no longer uses"} ${skill.name}.`, { action: { label: "Undo", run: () => change(skill, !on, agent, names) } });
  } catch (error) {
    complain(error, `${skill.name} was not changed.`);
  } finally {
    hoped.delete(name);
    redraw();
  }
}

async function changeAll(kind, wanted, agent = agentId()) {
  const before = access(config.value?.parsed, agent);
  allBusy = kind;
  redraw();
  try {
    await changeAccess(agent, () => wanted);
    await config.reload();
    const back = before.mode === "all" || before.inherited ? null : before.names;
    toast(saysOf(agent, wanted), { action: { label: "Undo", run: () => changeAll("undo", back, agent) } });
  } catch (error) {
    complain(error, "Nothing was changed.");
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
  if (config.state !== "ready") return null;
  const known = new Set(skills().flatMap((skill) => [skill.name, skill.skillKey]));
  const strangers = names.filter((name) => !known.has(name));
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
  const state = AGENT_STATES[agentState(skill)];
  const reason = firstReason(skill);
  const isChosen = place.query.skill === skill.name;
  const on = isOn(skill);
  return h("div", { ...attributes, class: ["row", isChosen && "row-chosen", !on && "row-off"], "data-skill": skill.name, onclick: (event) => event.target.closest("a, button") || go({ skill: skill.name }) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("a", { href: viewLink("skills", { ...place.query, skill: skill.name }) }, skill.emoji ? `${skill.emoji} ` : "", skill.name),
        h(Chip, { tone: state.tone, title: reason ? `${skill.name} ${reason}` : "" }, state.label), h(Tag, null, sourceLabel(skill))),
      agentState(skill) === "ready"
        ? h("p", { class: "row-about" }, skill.description)
        : h("p", { class: "row-about row-reason" }, h("span", null, reason),
          agentState(skill) === "setup" && h("a", { class: "row-setup", href: viewLink("setup", { configure: skill.skillKey }) }, "Open System Setup"))),
    h(Toggle, {
      label: `Skill ${skill.name}`, on, busy: hopeOf(skill) !== undefined || Boolean(allBusy),
      disabled: agentState(skill) === "unsupported" || config.state !== "ready", onchange: (wanted) => change(skill, wanted),
    }));
}

function List({ shown }) {
  if (!skills().length) return h(Empty, { title: "No skills here yet.", command: "prowess load --all" }, "Put a folder with a SKILL.md below skills/ in the workspace, or copy the bundled ones.");
  if (!shown.length) return h(Empty, { title: "No skill matches.", action: h(Button, { onclick: () => go({ q: null, filter: null }) }, "Show all skills") });
  return list.view({ items: shown, keyOf, row: Row, label: `Skills of ${agentName()}` });
}

function describe() {
  const { searched, shown } = found();
  const ready = report.state === "ready";
  const on = skills().filter(isOn).length;
  const options = FILTERS.map(([id, label]) => ({ id, label, count: ready ? (id === "all" ? searched : searched.filter((skill) => agentState(skill) === id)).length : undefined }));
  const chosen = skills().find((skill) => skill.name === place.query.skill);
  return [
    h(PageHead, { title: "Skills", scope: ready ? `What ${agentName()} can use · ${on} of ${skills().length} on. Changes here affect ${agentName()} alone.` : `What ${agentName()} can use` },
      h(Button, { busy: allBusy === "all", disabled: !ready || config.state !== "ready" || Boolean(allBusy) || current().mode === "all" || current().inherited, onclick: () => changeAll("all", null) }, hasDefaults() ? "Use the defaults" : "Use all"),
      h(Button, { busy: allBusy === "none", disabled: !ready || config.state !== "ready" || Boolean(allBusy) || (current().mode === "none" && !current().inherited), onclick: () => changeAll("none", []) }, "Disable all")),
    h("div", { class: ["list-head", chosen && "list-head-away"] }, h(Filters, { label: "Status", options, value: filter(), disabled: !ready, onchange: (id) => go({ filter: id === "all" ? null : id }, { replace: true }) }), h(ScopeNote)),
    h("div", { class: ["split", chosen && "split-chosen"] },
      h("div", { class: "split-list" }, h(Loaded, { of: report, doing: "The skills could not be read.", rows: 9, describe: () => h(List, { shown }) })),
      h("section", { class: "split-detail", key: chosen?.name ?? "none", "aria-label": chosen ? `About ${chosen.name}` : "No skill chosen" },
        chosen ? [h("button", { class: "button quiet split-back", onclick: () => go({ skill: null }) }, h(Icon, { name: "back" }), "All skills"), h(SkillPage, { skill: chosen })]
          : h("div", { class: "empty" }, h("p", { class: "empty-title" }, ready ? `${count(shown.length, "skill")} shown` : "Loading"), h("p", null, "Choose one to see what it needs, where it comes from and what it says."))))];
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
    x: () => chosen && agentState(chosen) !== "unsupported" && hopeOf(chosen) === undefined && change(chosen, !isOn(chosen)),
    Enter: () => document.querySelector(".split-detail h2")?.focus(),
    Escape: () => go({ skill: null }),
  };
}

follow("connected", () => hoped.clear());

export const skillsView = { label: "Skills", search: "Search skills", describe, keys };
