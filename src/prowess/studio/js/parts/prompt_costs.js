// What the list of skills costs: tokens that are spent in every conversation before anybody says a
// word, by agent and harness. A harness reads its own folders, so the lists differ in more than size.

import { agentName, comesLater, follow, gateway, want } from "../app.js";
import { h } from "../dom.js";
import { go, place } from "../place.js";
import { Resource } from "../resource.js";
import { count } from "../words.js";
import { Chip, Command, Loaded } from "./basics.js";
import { ShareBar } from "../charts/plots.js";

// Without an agent, of all of them.
export const costs = new Resource(({ agent }) => gateway.request("skills.costs", agent ? { agentId: agent } : {}, { timeout: 60_000 }));
// What becomes of a description that has too little room.
export const FATES = [["cut", "shortened"], ["name-only", "by name only"], ["dropped", "left out"]];

// Other skills take other room; it is worked out anew by whoever looks at it.
const renew = () => (["home", "activity"].includes(place.view) ? costs.reload() : costs.clear());
follow("connected", renew);
follow("skills.changed", ({ agentId: changed }) => [changed, ""].includes(costs.asked?.agent) && renew());

function Fates({ counts }) {
  const lost = FATES.filter(([id]) => counts[id] > 0).map(([id, words]) => `${counts[id]} ${words}`);
  if (!lost.length) return h("span", { class: "muted" }, counts.shown ? `all ${counts.shown} in full` : "none");
  return h(Chip, { tone: "needs" }, [counts.shown ? `${counts.shown} in full` : "", ...lost].filter(Boolean).join(", "));
}

export function roomOf({ used, limit, unit }) {
  if (!limit) return "no limit known";
  const hundredths = Math.round((100 * used) / limit);
  return `${used > 0 && hundredths < 1 ? "under 1" : hundredths} % of ${limit.toLocaleString("en")} ${unit}`;
}

function Row({ agent, one, most, isFirst, span }) {
  const { title, tokens, limit, counts } = one;
  return h("tr", { key: `${agent} ${one.harness}` },
    isFirst && h("th", { scope: "rowgroup", rowspan: span, class: "cost-agent" }, agentName(agent)),
    h("th", { scope: "row" }, title),
    h("td", { class: "number" }, tokens.toLocaleString("en")),
    h("td", { class: "cost-bar" }, h(ShareBar, { share: most ? tokens / most : 0 })),
    h("td", { class: "number" }, h("span", { class: limit ? "" : "muted" }, roomOf(one))),
    h("td", null, h(Fates, { counts })));
}

function Found({ agents }) {
  const most = Math.max(1, ...agents.flatMap(({ harnesses }) => harnesses.map(({ tokens }) => tokens)));
  const isTight = agents.some(({ harnesses }) => harnesses.some(({ counts }) => FATES.some(([id]) => counts[id] > 0)));
  return [
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Tokens by agent and harness" },
      h("table", { class: "table costs" },
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Agent"), h("th", { scope: "col" }, "Harness"), h("th", { scope: "col", class: "number" }, "Tokens"), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Compared")), h("th", { scope: "col", class: "number" }, "Of its room"), h("th", { scope: "col" }, "Descriptions"))),
        agents.map(({ agentId: agent, harnesses }) => h("tbody", { key: agent }, [...harnesses].sort((one, other) => other.tokens - one.tokens).map((one, at) => h(Row, { agent, one, most, isFirst: at === 0, span: harnesses.length })))))),
    isTight && h("div", { class: "line" }, h("span", { class: "muted" }, "What to shorten first:"), h(Command, { text: "prowess budget" }))];
}

// Who comes from a strip of Home looks for its row, which stands last here and moves until all is there.
function reveal(node) {
  if (place.query.part !== "costs") return;
  node.scrollIntoView();
  if (!document.querySelector(".skeleton")) go({ part: null }, { replace: true, quiet: true });
}

export function Costs({ whose, agent }) {
  want(costs, { agent });
  const harnesses = (costs.value?.agents ?? []).reduce((most, one) => Math.max(most, one.harnesses.length), 0);
  return h("section", { class: "activity-part", "aria-labelledby": "costs-title", oncreate: reveal, onupdate: reveal },
    h("header", { class: "part-head" }, h("h2", { id: "costs-title" }, "What the prompt block costs"), h("p", { class: "meta" }, `about so many tokens in every conversation of ${whose}${harnesses > 1 ? `, in ${count(harnesses, "harness", "harnesses")}` : ""}`)),
    h(Loaded, { of: costs, doing: "The costs could not be computed.", rows: 4, later: comesLater("costs"), describe: ({ agents }) => h(Found, { agents }) }));
}
