// Activity: what became of skills over days, for the selected agent or for all agents together.
// Only names, agents and times are counted anywhere, never a message.

import { agentId, agentName, comesLater, follow, gateway } from "../app.js";
import { h } from "../dom.js";
import { Button, Empty, Loaded, PageHead } from "../parts/basics.js";
import { fetchLearning, forgetLearning, Learning, reloadLearning } from "../charts/learning_plot.js";
import { fetchMissed, Missed } from "../parts/missed.js";
import { DayTable, lastDays, ShareBar, SmallPlot } from "../charts/plots.js";
import { Costs } from "../parts/prompt_costs.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { ago, count } from "../words.js";
import { tryMessage } from "./router.js";

const SPANS = [7, 14, 30, 90];
const TOP = 8;
const MOST_NAMES = 40;
const COLUMNS = [["routed", "Routed"], ["none", "No skill"], ["loaded", "Loaded"], ["invoked", "Invoked"], ["corrected", "Corrected"], ["listed", "Listed"]];
// Each leads to where more is said of it.
const PLOTS = [
  { title: "Routed", about: "a skill was found for a message", kinds: ["routed"], view: "home" },
  { title: "No skill", about: "no skill fitted the message", kinds: ["none"], view: "router" },
  { title: "Used", about: "a skill was read or called", kinds: ["loaded", "invoked"], view: "skills" },
  { title: "Corrected", about: "a person corrected the agent", kinds: ["corrected"], view: "workshop" },
];

const activities = new Resource(({ agent, days }) => gateway.request("skills.activity", { days, ...(agent ? { agentId: agent } : {}) }));
let isWhole = false;

const isAll = () => place.query.agents === "all";
const days = () => (SPANS.includes(Number(place.query.days)) ? Number(place.query.days) : 14);
const whose = () => (isAll() ? "all agents" : agentName());
const canCount = () => gateway.hello?.features?.methods?.includes("skills.activity") ?? false;

// What was asked for last, so that a step to another number of days asks only for what has days.
let shown = { whose: "", days: 0 };

function arrive() {
  if (!agentId() || place.view !== "activity") return;
  const agent = isAll() ? "" : agentId();
  const wanted = { whose: agent || "*", days: days() };
  const isOther = wanted.whose !== shown.whose;
  if (gateway.state !== "live") {
    // What another agent did must not stand under this one's name.
    if (isOther || wanted.days !== shown.days) activities.clear();
    if (isOther) forgetLearning();
    return;
  }
  if (canCount() && (isOther || wanted.days !== shown.days)) activities.load({ agent, days: wanted.days });
  if (isOther) fetchLearning(agent);
  fetchMissed(wanted.days);
  shown = wanted;
}

function Choice({ label, options, value, onchange }) {
  return h("div", { class: "filters", role: "group", "aria-label": label }, options.map(([id, words]) => h("button", {
    key: id, type: "button", class: ["filter", id === value && "filter-on"], "aria-pressed": String(id === value), onclick: () => onchange(id) }, words)));
}

const rowsOf = (value, kinds) => value.days.map((day) => ({ day: day.day, values: kinds.map((kind) => day[kind]) }));
const labelOf = (kind) => COLUMNS.find(([id]) => id === kind)[1];

function Plots({ value }) {
  const all = COLUMNS.map(([id, label]) => ({ id, label }));
  return h("section", { class: "activity-part", "aria-labelledby": "days-title" },
    h("header", { class: "part-head" }, h("h2", { id: "days-title" }, "Day by day"), h("p", { class: "meta" }, `skills of ${whose()}; each plot has its own scale`)),
    h("div", { class: "small-plots" }, PLOTS.map(({ title, about, kinds, view }) => h(SmallPlot, { title, about, href: viewLink(view), days: rowsOf(value, kinds), series: kinds.map((id) => ({ id, label: labelOf(id) })) }))),
    h(DayTable, { label: `Activity of ${whose()}`, days: rowsOf(value, COLUMNS.map(([id]) => id)), series: all }));
}

const used = ({ loaded, invoked }) => loaded + invoked;

// How many messages were routed to a skill, how often its text was loaded, and how often corrected.
function Funnel({ one, most }) {
  const steps = [["routed", one.routed], ["loaded", one.loaded], ["corrected", one.corrected]];
  const widest = Math.max(1, most, one.routed);
  return h("span", { class: "funnel" }, h("svg", { class: "funnel-bars", viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, steps.map(([kind, number], at) => h("rect", { key: kind, class: `funnel-${kind}`, x: 0, y: at * 4, width: (100 * number) / widest, height: 3.4 }))),
    h("span", { class: "meta" }, steps.map(([, number]) => number.toLocaleString("en")).join(" → ")));
}

function SkillRow({ one, most }) {
  return h("tr", { key: one.name }, h("th", { scope: "row" }, h("a", { href: viewLink("skills", { skill: one.name }) }, one.name)),
    h("td", { class: "number" }, used(one).toLocaleString("en")), h("td", { class: "cost-bar" }, h(ShareBar, { share: most ? used(one) / most : 0 })),
    h("td", null, h(Funnel, { one, most })),
    h("td", { class: "muted" }, one.lastUsedAt ? ago(one.lastUsedAt) : "never"));
}

function MostUsed({ skills }) {
  const most = Math.max(0, ...skills.map(used));
  const rows = isWhole ? skills : skills.slice(0, TOP);
  return h("section", { class: "activity-part", "aria-labelledby": "most-title" },
    h("header", { class: "part-head" }, h("h2", { id: "most-title" }, "Most used"), h("p", { class: "meta" }, `by ${whose()} in ${count(days(), "day")}`)),
    skills.length ? h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Most used skills" }, h("table", { class: "table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Skill"), h("th", { scope: "col", class: "number" }, "Used"), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Compared")), h("th", { scope: "col" }, "Routed → loaded → corrected"), h("th", { scope: "col" }, "Last used"))),
      h("tbody", null, rows.map((one) => h(SkillRow, { one, most }))))) : h("p", { class: "muted" }, "No skill was used in these days."),
    skills.length > TOP && h("div", null, h(Button, { kind: "quiet", onclick: () => { isWhole = !isWhole; } }, isWhole ? "Show fewer" : `Show all ${skills.length}`)));
}

function NeverUsed({ names, total }) {
  return h("section", { class: "activity-part", "aria-labelledby": "never-title" },
    h("header", { class: "part-head" }, h("h2", { id: "never-title" }, "Never used"), h("p", { class: "meta" }, total ? `${total.toLocaleString("en")} ready, never loaded or called` : "")),
    names.length ? [
      h("ul", { class: "never" }, names.slice(0, MOST_NAMES).map((name) => h("li", { key: name }, h("a", { href: viewLink("skills", { skill: name }) }, name)))),
      total > MOST_NAMES && h("p", { class: "meta" }, `and ${(total - MOST_NAMES).toLocaleString("en")} more`),
      h("p", { class: "muted" }, "They cost room in every prompt. Say in their descriptions when to use them, or switch them off."),
    ] : h("p", { class: "muted" }, "Every ready skill was used at least once."));
}

const hasAny = ({ totals }) => COLUMNS.some(([id]) => totals[id] > 0);

function Counted({ value }) {
  return [
    hasAny(value) ? h(Plots, { value }) : h(Empty, { title: `Nothing happened in ${count(days(), "day")}.`, command: "prowess connect claude-code", action: h("a", { href: viewLink("router") }, "Try a message in the router") }, "Uses are counted once an agent asks this gateway. Connect a harness to begin."),
    h("div", { class: "activity-pair" }, h(MostUsed, { skills: value.skills.filter((one) => used(one) > 0) }), h(NeverUsed, { names: value.neverUsed, total: value.neverUsedTotal ?? value.neverUsed.length }))];
}

function describe() {
  const scope = isAll() ? "What all agents of this gateway did with skills." : `What ${agentName()} did with skills; the other agents are not counted.`;
  return h("div", { class: "page-scroll activity" },
    h(PageHead, { title: "Activity", scope: `${scope} Names and times are kept, never a message.` },
      h(Choice, { label: "Whose", options: [["one", agentName() || "This agent"], ["all", "All agents"]], value: isAll() ? "all" : "one", onchange: (id) => go({ agents: id === "all" ? "all" : null }) }),
      h(Choice, { label: "How long", options: SPANS.map((number) => [number, `${number} days`]), value: days(), onchange: (number) => go({ days: number === 14 ? null : number }) })),
    gateway.hello && !canCount() ? h(Empty, { title: "This gateway does not count days.", command: "prowess serve" }, "Start a newer one to see plots here.")
      : h(Loaded, { of: activities, doing: "The activity could not be read.", rows: 6, later: comesLater("days"), describe: (value) => h(Counted, { value }) }),
    h(Missed, { tryMessage }),
    h(Learning, { whose: whose(), days: activities.value?.days.map(({ day }) => day) ?? lastDays(days()) }),
    h(Costs, { whose: whose(), agent: isAll() ? "" : agentId() }));
}

follow("connected", () => {
  shown = { whose: "", days: 0 };
  arrive();
});
// What happens is shown as it happens, though not at every message: so many are counted at once.
const LIVE_MS = 2_000;
let later = 0;
follow("skills.routed", () => {
  if (place.view !== "activity" || later) return;
  later = setTimeout(() => {
    later = 0;
    if (place.view === "activity") activities.reload();
  }, LIVE_MS);
});
follow("skills.proposal", () => place.view === "activity" && reloadLearning());
follow("skills.changed", () => place.view === "activity" && activities.reload());

export const activity = { label: "Activity", search: "", describe, keys: () => ({}), arrive };
