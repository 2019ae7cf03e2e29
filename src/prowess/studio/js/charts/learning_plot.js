// What became of the workshop's proposals: how many were in which state at the end of each day.
// The log of events says when each changed; the list says how it is now.

import { comesLater, gateway } from "../app.js";
import { h } from "../dom.js";
import { viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { count } from "../words.js";
import { Empty, Loaded } from "../parts/basics.js";
import { DayPlot, DayTable, PlotLegend } from "./plots.js";

const PAGE = 200;
const MOST_PAGES = 20;
export const STATES = [["applied", "Applied"], ["pending", "Pending"], ["rejected", "Rejected"], ["quarantined", "Quarantined"], ["stale", "Stale"]];
const BECOMES = { created: "pending", revised: "pending", rolled_back: "pending", applied: "applied", rejected: "rejected", quarantined: "quarantined", stale: "stale" };

// Without an agent, of all of them.
const learned = new Resource(async ({ agent: only }) => {
  const agents = only ? [only] : await onePerWorkspace();
  const found = [];
  // One after the other: with hundreds of agents the rest of the page would wait for all of them.
  for (const agent of agents) {
    const [listed, events] = await Promise.all([gateway.request("skills.proposals.list", { agentId: agent }), eventsOf(agent)]);
    found.push({ proposals: listed.proposals, events });
  }
  const proposals = new Map(found.flatMap((one) => one.proposals.map((proposal) => [proposal.id, proposal])));
  const events = new Map(found.flatMap((one) => one.events.map((event) => [`${event.proposalId} ${event.sequence} ${event.occurredAt}`, event])));
  return { proposals: [...proposals.values()], events: [...events.values()].sort((one, other) => Date.parse(one.occurredAt) - Date.parse(other.occurredAt)) };
});

// Agents that share a workspace share its proposals.
async function onePerWorkspace() {
  const { agents } = await gateway.request("agents.list");
  return [...new Map(agents.map(({ id, workspace }) => [workspace ?? `agent ${id}`, id])).values()];
}

async function eventsOf(agent) {
  const events = [];
  let after = 0;
  for (let page = 0; page < MOST_PAGES && after !== undefined; page += 1) {
    const found = await gateway.request("skills.proposals.events.list", { agentId: agent, afterSequence: after, limit: PAGE });
    events.push(...found.events);
    after = found.nextSequence;
  }
  return events;
}

export const fetchLearning = (agent) => learned.load({ agent });
export const reloadLearning = () => learned.reload();
export const forgetLearning = () => learned.clear();

const dayOf = (moment) => new Date(moment).toLocaleDateString("en-CA");

// For each of `days` how many proposals are in each of STATES when it ends.
export function statesByDay(events, days) {
  const states = new Map();
  let next = 0;
  return days.map((day) => {
    for (; next < events.length && dayOf(events[next].occurredAt) <= day; next += 1) {
      const { proposalId, type } = events[next];
      if (type === "pruned") states.delete(proposalId);
      else if (BECOMES[type]) states.set(proposalId, BECOMES[type]);
    }
    const now = [...states.values()];
    return { day, values: STATES.map(([id]) => now.filter((state) => state === id).length) };
  });
}

function Found({ value, days }) {
  const { proposals, events } = value;
  if (!proposals.length) return h(Empty, { title: "Nothing was learned yet.", command: "prowess sessions --learn", action: h("a", { href: viewLink("workshop") }, "Open the workshop") }, "Corrections in conversations become proposals, and a person decides on each.");
  const series = STATES.map(([id, label]) => ({ id, label, number: proposals.filter(({ status }) => status === id).length }));
  const rows = statesByDay(events, days);
  const decided = proposals.filter(({ status }) => status === "applied" || status === "rejected").length;
  const waiting = series.find(({ id }) => id === "pending").number;
  const title = "Proposals by state at the end of each day";
  return [
    h("div", { class: "learning" },
      h("div", { class: "learning-now" },
        h("p", { class: "muted" }, `${count(proposals.length, "proposal")}, ${decided} decided by a person. `, waiting > 0 && h("a", { href: viewLink("workshop") }, `${count(waiting, "waits", "wait")} for you`)),
        h(PlotLegend, { series })),
      h(DayPlot, { title, days: rows, series, figure: "plot-wide" })),
    h(DayTable, { label: title, days: rows, series })];
}

export function Learning({ days, whose }) {
  return h("section", { class: "activity-part", "aria-labelledby": "learning-title" },
    h("header", { class: "part-head" }, h("h2", { id: "learning-title" }, "Learning results"), h("p", { class: "meta" }, `proposals for ${whose}, at the end of each day`)),
    h(Loaded, { of: learned, doing: "The proposals could not be read.", rows: 3, later: comesLater("proposals"), describe: (value) => h(Found, { value, days }) }));
}
