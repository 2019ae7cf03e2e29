// A strip per harness: the room that its list of skills has, and where that cuts. What is shown whole
// comes first, then what is shortened, then names alone, then what has no room at all.

import { want } from "../app.js";
import { h } from "../dom.js";
import { viewLink } from "../place.js";
import { count } from "../words.js";
import { Failed, Skeleton } from "./basics.js";
import { FATES as LOST, costs, roomOf } from "./prompt_costs.js";

const FATES = [["shown", "in full"], ...LOST];

const lost = ({ counts }) => (counts.cut ?? 0) + (counts["name-only"] ?? 0) + (counts.dropped ?? 0);

// Where all fits, how much of the room it takes; where not, what becomes of how many. Where nobody knows
// of a limit, nothing is filled.
function partsOf(one) {
  if (!lost(one)) return [["shown", one.limit ? Math.min(100, (100 * one.used) / one.limit) : 0]];
  const total = FATES.reduce((sum, [id]) => sum + (one.counts[id] ?? 0), 0);
  return FATES.map(([id]) => [id, (100 * (one.counts[id] ?? 0)) / total]);
}

function Strip({ one }) {
  const said = FATES.filter(([id]) => one.counts[id]).map(([id, words]) => `${one.counts[id].toLocaleString("en")} ${words}`).join(", ") || "no skill of yours";
  const room = one.limit ? roomOf(one) : `${count(one.tokens, "token")}, ${roomOf(one)}`;
  let left = 0;
  return h("li", { key: one.harness }, h("a", { class: "strip", href: viewLink("activity", { part: "costs" }) },
    h("span", { class: "strip-name" }, one.title),
    h("svg", { class: "strip-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": `${one.title}: ${room}; ${said}` }, h("rect", { class: "strip-room", x: 0, y: 0, width: 100, height: 8 }),
      partsOf(one).map(([id, width]) => {
        const x = left;
        left += width;
        return h("rect", { key: id, class: `strip-${id}`, x, y: 0, width, height: 8 });
      })),
    h("span", { class: "meta strip-words" }, room, " · ", said)));
}

export function BudgetStrips({ agent }) {
  if (agent) want(costs, { agent });
  if (costs.state === "failed") return h(Failed, { error: costs.error, doing: "The room could not be worked out.", retry: () => costs.reload() });
  if (costs.state !== "ready") return h(Skeleton, { rows: 2 });
  // The tightest first.
  const rows = costs.value.agents.flatMap(({ harnesses }) => harnesses).sort((one, other) => lost(other) - lost(one) || other.tokens - one.tokens);
  return h("ul", { class: "strips" }, rows.map((one) => h(Strip, { one })));
}
