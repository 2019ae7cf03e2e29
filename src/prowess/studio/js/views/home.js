// Home: what needs a person, what happened in the last hour, how the connected agents do, and how
// full the prompt is. Each line leads to where something can be done.

import { agentId, agentName, comesLater, follow, gateway, numbers, pendingProposals, report, skills, waiting, want } from "../app.js";
import { h, remembered } from "../dom.js";
import { Chip, Loaded, PageHead, Skeleton } from "../parts/basics.js";
import { BudgetStrips } from "../parts/budget_strip.js";
import { harnesses, lastCall, needsLook } from "../parts/harnesses.js";
import { Icon } from "../parts/icon.js";
import { isOff } from "../parts/workshop_switch.js";
import { place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { count, readiness, reasons } from "../words.js";
import { usableNow } from "./skills.js";

const MOST_ROUTES = 12;
const recent = new Resource(() => gateway.request("skills.recent", { minutes: 60 }));
const DECISIONS = { load: ["loads", "ready"], offer: ["offers", "accent"], none: ["no skill", "slate"] };
const KINDS = { followup: "follow-up", praise: "thanks", other: "message" };
const SURFACES = { hook: "a prompt", mcp: "a tool call", chat: "a chat", agent: "an agent", gateway: "a client", library: "a program", terminal: "a terminal" };

function Line({ icon, tone, href, children, about }) {
  return h("li", { key: `${href} ${about ?? ""}` }, h("a", { class: ["home-line", tone && `home-${tone}`], href }, h(Icon, { name: icon }), h("span", { class: "home-words" }, children), about && h("span", { class: "meta" }, about), h(Icon, { name: "arrow" })));
}

// The one thing that would make most skills usable.
const topThing = remembered((all) => {
  const found = new Map();
  for (const skill of all) {
    if (readiness(skill) !== "setup") continue;
    const why = reasons(skill);
    if (why.length === 1 && why[0].names.length === 1) found.set(why[0].names[0], (found.get(why[0].names[0]) ?? 0) + 1);
  }
  const [best] = [...found].sort(([, one], [, other]) => other - one);
  return best ? { name: best[0], number: best[1] } : null;
});

function Needs() {
  const { states, setup } = numbers();
  const top = topThing(skills());
  const waits = pendingProposals().length;
  const lost = harnesses.value?.harnesses.filter(needsLook) ?? [];
  const lines = [
    states.blocked && h(Line, { icon: "alert", tone: "danger", href: viewLink("skills", { filter: "blocked" }) }, `${count(states.blocked, "skill is", "skills are")} blocked by the scanner`),
    states.broken && h(Line, { icon: "close", tone: "danger", href: viewLink("skills", { filter: "unread" }) }, `${count(states.broken, "file")} cannot be read as a skill`),
    states.cut && h(Line, { icon: "minus", tone: "needs", href: viewLink("skills", { filter: "unread" }) }, `${count(states.cut, "skill is", "skills are")} over a limit and not loaded`),
    waits && h(Line, { icon: "workshop", tone: "accent", href: viewLink("workshop") }, `${count(waits, "proposal waits", "proposals wait")} for your yes`),
    setup && h(Line, { icon: "setup", tone: "needs", href: viewLink("setup"), about: top ? `${top.name} unlocks ${top.number}` : "" }, `${count(setup, "skill needs", "skills need")} setup`),
    isOff() && h(Line, { icon: "workshop", href: viewLink("workshop") }, "The workshop is off: corrections are not kept"),
    ...lost.map((one) => h(Line, { icon: "connect", tone: "needs", href: viewLink("connect"), about: one.problems[0] ?? (one.failed ? `${one.failed} of ${one.calls} calls failed` : "") }, `${one.title} needs a look`)),
  ].filter(Boolean);
  return h("section", { class: "home-part", "aria-labelledby": "home-needs" }, h("h2", { id: "home-needs" }, "Needs you"),
    h(Loaded, { of: report, doing: "The skills could not be read.", rows: 3, later: comesLater(), describe: () => (lines.length || waiting.state !== "ready" ? h("ul", { class: "home-lines" }, lines) : h("p", { class: "queue-done" }, h(Icon, { name: "check" }), "Nothing waits for you.")) }),
    states.scanning > 0 && h("p", { class: "meta" }, `${count(states.scanning, "skill is", "skills are")} being scanned.`));
}

function Tick({ one }) {
  const [word, tone] = DECISIONS[one.decision] ?? [one.decision, "slate"];
  return h("li", { key: `${one.at} ${one.skill ?? ""}` }, h("a", { class: "tick", href: one.skill ? viewLink("skills", { skill: one.skill }) : viewLink("activity") }, h("time", { class: "meta", datetime: new Date(one.at).toISOString() }, new Date(one.at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" })),
    h(Chip, { tone }, word), h("span", { class: one.skill ? "tick-skill break" : "muted" }, one.skill ?? "–"),
    h("span", { class: "meta tick-from" }, KINDS[one.kind] ?? one.kind ?? "message", " · ", SURFACES[one.surface] ?? one.surface, " · ", agentName(one.agentId)), h("span", { class: "score-number" }, one.score === null ? "" : one.score.toFixed(2))));
}

function Ticker() {
  return h("section", { class: "home-part", "aria-labelledby": "home-ticker" }, h("h2", { id: "home-ticker" }, "The last hour ", h("span", { class: "meta" }, "live; no message is kept")),
    h(Loaded, { of: recent, doing: "What happened could not be read.", rows: 3, describe: ({ routes }) => (routes.length
      ? [h("ol", { class: "ticker", "aria-label": "Routes of the last hour" }, routes.slice(0, MOST_ROUTES).map((one) => h(Tick, { one }))), routes.length > MOST_ROUTES && h("p", { class: "meta" }, h("a", { href: viewLink("activity") }, `${routes.length - MOST_ROUTES} more in this hour`))]
      : h("p", { class: "muted" }, "No agent asked for a skill in this hour. ", h("a", { href: viewLink("router") }, "Try a message in the router"), ".")) }));
}

function Health() {
  return h("section", { class: "home-part", "aria-labelledby": "home-health" }, h("h2", { id: "home-health" }, "Connected agents"),
    harnesses.state === "failed" ? h("p", { class: "muted" }, harnesses.error.message) : harnesses.state !== "ready" ? h(Skeleton, { rows: 2 }) : h(HealthRows, { rows: harnesses.value.harnesses.filter(({ connected }) => connected.length) }));
}

function HealthRows({ rows }) {
  if (!rows.length) return h("p", { class: "muted" }, "No coding agent is connected. ", h("a", { href: viewLink("connect") }, "Connect one"), ".");
  return h("ul", { class: "home-lines" }, rows.map((one) => h(Line, { icon: needsLook(one) ? "alert" : "check", tone: needsLook(one) ? "needs" : "ready", href: viewLink("connect"), about: lastCall(one) }, one.title)));
}

function Budget() {
  return h("section", { class: "home-part", "aria-labelledby": "home-budget" }, h("h2", { id: "home-budget" }, "Room in the prompt"), h(BudgetStrips, { agent: agentId() }));
}

function scope() {
  if (report.state !== "ready") return `How ${agentName()} and this gateway do.`;
  return `${agentName()} has ${usableNow().toLocaleString("en")} of ${skills().length.toLocaleString("en")} skills usable now.`;
}

function describe() {
  if (agentId()) want(recent, {});
  return h("div", { class: "page-scroll home" }, h(PageHead, { title: "Home", scope: scope() }),
    h("div", { class: "home-grid" }, h(Needs), h(Ticker), h(Health), h(Budget)));
}

function arrive() {
  if (place.view !== "home" || gateway.state !== "live") return;
  recent.load({});
  harnesses.load({});
}

follow("connected", arrive);
follow("skills.routed", (route) => {
  if (recent.state === "ready") recent.put({ routes: [route, ...recent.value.routes].slice(0, 500) });
});

export const home = { label: "Home", search: "", describe, keys: () => ({}), arrive };
