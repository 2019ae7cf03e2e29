// Why one skill is or is not loaded for a message: each step on its way, and what to change.

import { agentName, gateway, skillOf } from "../app.js";
import { h } from "../dom.js";
import { link, place, viewLink } from "../place.js";
import { LiveAnswer } from "../live_answer.js";
import { Failed, Skeleton } from "./basics.js";
import { canSetUp, reasons, sentence } from "../words.js";
import { Icon } from "./icon.js";
import { heldBack, ScoreBar, scoreText } from "../charts/score_bar.js";

const why = new LiveAnswer(({ agent, name, message }) => gateway.request("skills.why", { agentId: agent, name, ...(message ? { message } : {}) }));
const STAGES = { found: "Found", parsed: "Readable", eligible: "Ready", ready: "Ready", allowed: "Allowed", model: "Shown to the model", score: "Score", rank: "Rank" };

export const askWhyAgain = () => why.again();

// The gateway's words are for those who write configs; what is missing has words of its own here.
function inWords({ stage, passed, detail, fix }, skill) {
  if (passed || !skill) return { detail, fix };
  if (stage === "allowed") return { detail: `switched off for ${agentName()}: ${detail}`, fix: "" };
  const why = reasons(skill);
  if (stage !== "eligible" || !why.length) return { detail, fix };
  const isFixable = !why.some(({ kind }) => kind === "os");
  return { detail: `it ${why.map(sentence).join("; ")}`, fix: isFixable ? fix : "" };
}

function Step({ stage, passed, skill, ...said }) {
  const { detail, fix } = inWords({ stage, passed, ...said }, skill);
  return h("li", { key: stage, class: passed ? "step-passed" : "step-stopped" }, h(Icon, { name: passed ? "check" : "minus" }),
    h("div", null, h("p", null, h("span", { class: "visually-hidden" }, passed ? "Passed: " : "Stopped here: "), h("strong", null, STAGES[stage] ?? stage), " ", h("span", { class: "muted break" }, detail)),
      !passed && fix && h("p", { class: "step-fix break" }, h("span", { class: "muted" }, "To change that: "), fix)));
}

// Who is before it in the order, and by how much.
function Ahead({ found }) {
  const thresholds = { load: found.threshold ?? 1 };
  const rows = [...(found.ahead ?? []).slice(0, 3), found.match].filter(Boolean);
  if (rows.length < 2) return null;
  return h("section", { class: "section" }, h("h3", null, "Ahead of it"),
    h("ol", { class: "ahead" }, rows.map((match) => h("li", { key: match.name, class: match === found.match && "ahead-own" },
      h("span", { class: "ahead-name" }, match.name), h("div", { class: "score-cell" }, h(ScoreBar, { match, thresholds })), h("span", { class: "score-number" }, scoreText(match.score))))));
}

function Reasons({ match }) {
  const against = heldBack(match).map(({ words }) => words);
  if (!match.reasons.length && !against.length) return null;
  return h("section", { class: "section" }, h("h3", null, "What speaks for it, and against"),
    h("ul", { class: "speaks" }, match.reasons.map((reason) => h("li", { key: reason }, h(Icon, { name: reason.startsWith("but ") ? "minus" : "plus" }), h("span", { class: "break" }, reason))),
      against.map((words) => h("li", { key: words }, h(Icon, { name: "minus" }), h("span", null, words)))));
}

function Answer({ found, name }) {
  const isIn = found.loaded ?? found.visible;
  const skill = skillOf(name);
  // Mostly a step says the same, with what to do about it.
  const isSaid = (found.steps ?? []).some(({ detail }) => detail === found.reason);
  return [
    !isSaid && h("p", { class: "why-reason break" }, isIn ? (found.loaded ? "It is loaded: " : "The model sees it: ") : "It is not loaded: ", found.reason || "nothing stands in its way", "."),
    h("ol", { class: "steps" }, (found.steps ?? []).map((step) => h(Step, { ...step, skill }))),
    h(WhereToGo, { found, skill }),
    found.match && h(Reasons, { match: found.match }),
    found.match && h(Ahead, { found })];
}

// Only where something can be done: nobody is sent to a page on which nothing helps.
function WhereToGo({ found, skill }) {
  const isOff = (found.steps ?? []).some(({ stage, passed }) => stage === "allowed" && !passed);
  if (!skill || (skill.eligible && !isOff)) return null;
  return h("p", { class: "line" }, !skill.eligible && canSetUp(skill) && h("a", { href: viewLink("setup", { configure: skill.skillKey }) }, "Open System Setup"),
    isOff && h("a", { href: viewLink("skills", { skill: skill.name }) }, "Go to its switch"));
}

function Content({ asked }) {
  // What is shown stays while the same skill is asked for with other words; another skill's does not.
  const isOurs = why.asked?.name === asked.name && why.asked?.agent === asked.agent;
  if (why.error) return h(Failed, { error: why.error, doing: "That could not be explained.", retry: askWhyAgain });
  if (!isOurs) return h(Skeleton, { rows: 3 });
  return h("div", { class: ["why-content", why.isWaiting && "is-old"], "aria-busy": why.isWaiting ? "true" : undefined }, h(Answer, { found: why.value, name: asked.name }));
}

// Where it was opened from: its row, or else the list of all skills.
export function focusBack(name) {
  const rows = [...document.querySelectorAll("[data-candidate]")];
  (rows.find((row) => row.dataset.candidate === name) ?? document.getElementById("why-skill"))?.focus();
}

export function WhyNot({ agent, name, message, isLoaded }) {
  const asked = { agent, name, message };
  if (gateway.state === "live" && agent) why.want(asked);
  const { why: _, ...rest } = place.query;
  return h("section", { class: "why", "aria-labelledby": "why-title", key: "why" },
    h("header", { class: "side-head" },
      h("h2", { id: "why-title", tabindex: -1 }, message ? `Why ${isLoaded ? "" : "not "}` : "Can the model see ", h("span", { class: "break" }, name), "?"),
      h("a", { class: "icon-button", href: link(rest, "router"), "aria-label": "Close the explanation", onclick: () => focusBack(name) }, h(Icon, { name: "close" }))),
    h("p", { class: "meta" }, message ? `For this message and ${agentName(agent)}` : `Without a message: whether ${agentName(agent)} may use it at all`),
    h(Content, { asked }));
}
