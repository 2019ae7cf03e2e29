// Agents beside skills: who may use what, at one look, each with its switch. An agent finds the skills
// of its own workspace: where it does not find one, there is nothing to switch.

import { agentId, agentList, agentName, follow, gateway, report, want } from "../app.js";
import { h } from "../dom.js";
import { place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { expand } from "../rows.js";
import { isUnsupported, readiness, readinessChip } from "../words.js";
import { Chip, Toggle } from "./basics.js";
import { WindowedList } from "./list.js";

const list = new WindowedList({ rowHeight: 36 });
// What the agents that are not selected find, by agent.
const found = new Map();

function rowsOf(agent) {
  if (agent === agentId()) return report.value;
  if (!found.has(agent)) found.set(agent, new Resource(async () => expand(await gateway.request("skills.rows", { agentId: agent }))));
  want(found.get(agent), { agent });
  return found.get(agent).value;
}

function Cell({ agent: { id, name }, skill, isAllowed, hopeOf, canChange, change }) {
  const finds = rowsOf(id);
  const own = finds?.byName.get(skill.name);
  if (!own) return h("span", { class: "matrix-cell meta", key: id, title: finds ? `${name || id} does not find ${skill.name}: it lies in another workspace.` : "" }, finds ? "–" : "…", finds && h("span", { class: "visually-hidden" }, ` ${name || id} does not find ${skill.name}`));
  const hoped = hopeOf(id, skill);
  return h("span", { class: "matrix-cell", key: id }, h(Toggle, { label: `${skill.name} for ${name || id}`, on: hoped ?? isAllowed(id, skill), busy: hoped !== undefined, disabled: !canChange || isUnsupported(own), onchange: (on) => change(id, skill, on, finds.skills.map((one) => one.name)) }));
}

// `isAllowed(agent, skill)`, `change(agent, skill, on, names)` and `hopeOf(agent, skill)` are the page's:
// what an agent may use is one thing, wherever it is switched.
export function Matrix({ rows, ...page }) {
  const agents = agentList();
  const columns = { "grid-template-columns": `minmax(150px, 1fr) repeat(${agents.length}, minmax(64px, 120px))` };
  const members = rows.filter(({ heading, unread }) => !heading && !unread);
  const Row = (skill, attributes) => h("div", { ...attributes, class: "matrix-row", style: columns },
    h("p", { class: "row-name" }, h("a", { href: viewLink("skills", { ...place.query, skill: skill.name }) }, skill.name), readiness(skill) !== "ready" && h(Chip, { tone: readinessChip(skill).tone }, readinessChip(skill).label)),
    agents.map((agent) => h(Cell, { agent, skill, ...page })));
  return h("div", { class: "matrix", key: "matrix" }, h("div", { class: "matrix-inside", style: { "min-width": `${190 + 72 * agents.length}px` } },
    h("div", { class: "matrix-head", style: columns }, h("span", { class: "meta" }, `Skills that ${agentName()} finds`), agents.map(({ id, name }) => h("span", { class: "matrix-cell meta", key: id, title: id }, name || id))),
    list.view({ items: members, keyOf: ({ source, name }) => `${source}/${name}`, row: Row, label: "Who may use which skill" })));
}

follow("connected", () => found.forEach((one) => one.reload()));
follow("skills.changed", ({ agentId: agent }) => found.get(agent)?.reload());
