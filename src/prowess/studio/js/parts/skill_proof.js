// What is known of a skill beside its text: which of its claims still hold here, and whether it was
// shown to help. Asked for the one skill whose page is open, never for lists.

import { agentId, gateway, want } from "../app.js";
import { h } from "../dom.js";
import { Resource } from "../resource.js";
import { count } from "../words.js";
import { Chip, Command, Failed } from "./basics.js";

export const SLOW_MS = 60_000;
export const fresh = new Resource(({ agent, name }) => gateway.request("skills.fresh", { agentId: agent, name }, { timeout: SLOW_MS }));
export const proof = new Resource(({ agent, name }) => gateway.request("skills.proof", { agentId: agent, name }));

const FRESH = { fresh: ["ready", "Holds"], stale: ["needs", "Stale"], unknown: ["slate", "Unknown"] };

function Claim({ claim }) {
  return h("li", { class: "remark", key: `${claim.line} ${claim.kind} ${claim.text}` },
    h("p", { class: "line" }, h("code", null, `line ${claim.line}`), h("span", { class: "break" }, `${claim.kind} `, h("code", null, [...claim.of, claim.text].join(" ")), claim.why && `: ${claim.why}`)),
    claim.instead && h("p", { class: "meta break" }, "Now: ", h("code", null, claim.instead)));
}

// Its claims, as far as they are known.
export const claimsOf = (name) => (fresh.state === "ready" && fresh.asked?.name === name ? fresh.value.skills[0]?.claims : undefined);

export function Freshness({ name }) {
  want(fresh, { agent: agentId(), name });
  if (fresh.state === "failed") return h(Failed, { error: fresh.error, doing: "Its claims could not be looked up.", retry: () => fresh.reload() });
  if (fresh.state !== "ready") return h("p", { class: "muted" }, "…");
  const [found] = fresh.value.skills;
  if (!found?.claims.length) return h("p", { class: "muted" }, "It names no command, path or package that could be looked up.");
  const of = (state) => found.claims.filter((claim) => claim.state === state);
  const [tone, word] = FRESH[found.state];
  const numbers = [[of("fresh"), "holds", "hold"], [of("stale"), "is stale", "are stale"], [of("unknown"), "is unknown", "are unknown"]].filter(([some]) => some.length);
  return h("div", { class: "checked" },
    h("p", { class: "line" }, h(Chip, { tone }, word), h("span", null, `Of ${count(found.claims.length, "claim")} `, numbers.map(([some, one, many]) => `${some.length} ${some.length === 1 ? one : many}`).join(", "), ".")),
    of("stale").length > 0 && h("ul", { class: "remarks", "aria-label": "Claims that no longer hold" }, of("stale").map((claim) => h(Claim, { claim }))));
}

export const PROOF = { proven: ["ready", "Proven"], harmful: ["danger", "Harmful"], inconclusive: ["slate", "Inconclusive"], unproven: ["slate", "Unproven"] };
const points = (share) => `${share < 0 ? "−" : "+"}${Math.abs(Math.round(100 * share))}`;

export function Proof({ name }) {
  want(proof, { agent: agentId(), name });
  if (proof.state === "failed") return h(Failed, { error: proof.error, doing: "What was shown of it could not be read.", retry: () => proof.reload() });
  if (proof.state !== "ready") return h("p", { class: "muted" }, "…");
  const { state, last, lapsed } = proof.value.skills[0];
  if (!last) return [h("p", { class: "muted" }, "Nobody has measured whether agents do better with it."), h(Command, { text: `prowess prove ${name}` })];
  const [tone, word] = PROOF[state] ?? ["slate", state];
  return [h("p", { class: "line" }, h(Chip, { tone }, word), lapsed && h("span", null, `It was ${last.verdict}; that lapsed: ${lapsed}.`)),
    h("p", null, `${points(last.mean)} points (${points(last.low)} to ${points(last.high)}) over ${count(last.tasks, "task")}, with ${[last.harness, last.model].filter(Boolean).join(", ")}, ${last.date}.`)];
}
