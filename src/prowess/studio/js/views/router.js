// Router: which skill the selected agent would use for a message, while it is being typed. Nothing
// here loads a skill or counts as a use.
//
// A message may be private. It stays in this tab; only a link that somebody asks for carries it, as
// `?m=`, and it is taken out of the address as soon as the page has read it.

import { agentId, agentName, follow, gateway, skillOf, skills } from "../app.js";
import { h, onceDrawn, redraw } from "../dom.js";
import { LiveAnswer } from "../live_answer.js";
import { Button, copy, Empty, Failed, Filters, PageHead } from "../parts/basics.js";
import { Icon } from "../parts/icon.js";
import { canTest, fetchTests, proposeTest, SaveTest, TestList } from "../parts/routing_tests.js";
import { SkillField } from "../parts/skill_field.js";
import { ScoreAxis, ScoreBar, ScoreLegend, ScoreTable, scoreText } from "../charts/score_bar.js";
import { askWhyAgain, focusBack, WhyNot } from "../parts/why_not.js";
import { go, link, place, viewLink } from "../place.js";
import { forgetMessages, keepDraft, recentMessages, remember, storedDraft } from "../recent_messages.js";
import { count, reasons, sentence } from "../words.js";

const LONGEST = 20_000;
const SHOWN = 8;
const MOST_TURNS = 20;
// So long nothing is typed, and the message counts as one that was tried.
const SETTLED_MS = 2_000;

let draft = storedDraft;
// What was said before the message, as typed; it ends with the tab.
let before = "";
let recentFilter = "all";
let settling = 0;

const route = new LiveAnswer(
  ({ agent, message, history }) => gateway.request("skills.route", { agentId: agent, message, history, limit: SHOWN, dryRun: true, notReady: true }),
  (asked, value) => {
    proposeTest(value.matches[0]?.name ?? "", asked);
    clearTimeout(settling);
    settling = setTimeout(settle, SETTLED_MS);
  },
);

const thresholds = (value) => ({ load: value.threshold, offer: value.offerThreshold });

function ask() {
  if (gateway.state !== "live" || !agentId() || place.view !== "router") return;
  const message = draft.trim();
  if (!message) route.forget();
  // What one agent would do says nothing about another.
  else if (route.asked && route.asked.agent !== agentId()) route.forget();
  if (message) route.want({ agent: agentId(), message, history: readTurns(before) });
}

// One message a paragraph, and the agent's begin with its name: that is how people paste them.
const AGENT = /^(?:agent|assistant|ai|bot|claude|codex)\s*:\s*/i;

const readTurns = (text) => text.split(/\n\s*\n/).map((part) => part.trim()).filter(Boolean).slice(-MOST_TURNS)
  .map((part) => ({ role: AGENT.test(part) ? "assistant" : "user", content: part.replace(AGENT, "").replace(/^(?:user|me|you)\s*:\s*/i, "") }));

function type(text) {
  draft = text;
  keepDraft(text);
  clearTimeout(settling);
  ask();
}

function settle() {
  const { asked, value } = route;
  if (!asked || asked.message !== draft.trim() || asked.agent !== agentId()) return;
  remember({ ...asked, decision: value.decision, names: value.matches.map(({ name }) => name), score: value.considered[0]?.score ?? 0 });
  redraw();
}

function use(message) {
  type(message);
  document.querySelector(".router-input")?.focus();
}

// For other views that hold a message: it goes from hand to hand and not through the address.
export function tryMessage(message) {
  type(message.slice(0, LONGEST));
  go({}, { view: "router" });
}

const copyLink = () => copy(location.origin + link({ settingsAgentId: agentId(), m: draft.trim() }, "router"), "The link is copied. It holds the message: send it only to those who may read it.");

function arrive() {
  const { m } = place.query;
  if (m !== undefined) {
    type(m.slice(0, LONGEST));
    go({ m: null }, { replace: true });
    return;
  }
  ask();
  fetchTests();
}

// The words that a person can check against the skill's own text.
function matched(match) {
  const [first] = match.reasons;
  const quote = /^(?:means nearly|fits its description) "(.+)" \(-?\d\.\d+\)$/.exec(first ?? "");
  if (quote) return `matched “${quote[1]}”`;
  return first ?? "it scores high enough";
}

const names = (matches) => matches.map(({ name }, at) => [at > 0 && (at === matches.length - 1 ? " and " : ", "), h("strong", { key: name, class: "break" }, name)]);

function Sentence({ value }) {
  const { decision, matches, considered } = value;
  const [best] = considered;
  if (decision === "load") return h("p", { class: "answer-words" }, "Would load ", names(matches), ": ", matched(matches[0]), ".");
  if (decision === "offer") return h("p", { class: "answer-words" }, "Would offer ", names(matches), ", and the agent decides: ", matched(matches[0]), ".");
  if (!best) return h("p", { class: "answer-words" }, h("strong", null, "No skill"), value.notes.length ? ": the agent answers on its own." : ": there is none that this agent may use.");
  return [h("p", { class: "answer-words" }, h("strong", null, "No skill"), `${without(value.notReady)}: the agent answers on its own.`),
    h("p", { class: "answer-why" }, "The best, ", h("strong", null, best.name), `, scores ${scoreText(best.score)}; skills are offered from ${scoreText(value.offerThreshold)} and loaded from ${scoreText(value.threshold)} on.`)];
}

// Two things can stand in its way: it is not ready, or the agent's list leaves it out.
const isSwitchedOff = ({ stage }) => stage === "allowed";

function without(kept) {
  if (!kept.length) return "";
  if (kept.every(isSwitchedOff)) return " that is switched on";
  return kept.some(isSwitchedOff) ? " that can be used now" : " that is ready";
}

function whyNotReady(match) {
  const skill = skillOf(match.name);
  return (skill ? reasons(skill).map(sentence).join("; ") : "") || match.reason;
}

// The commonest reason why a skill "is not picked up": it fits, and something keeps it from the agent.
function NotReady({ match }) {
  const name = h("a", { class: "break", href: link({ ...place.query, why: match.name }, "router"), onclick: () => focusSoon("why-title") }, match.name);
  return h("p", { class: "answer-blocked", key: match.name }, h(Icon, { name: "alert" }),
    isSwitchedOff(match)
      ? h("span", null, name, ` fits, but is switched off for ${agentName()}. `, h("a", { href: viewLink("skills", { skill: match.name }) }, "Go to its switch"))
      : h("span", null, name, ` would fit, but is not ready: ${whyNotReady(match)}.`));
}

const MARKS = { load: "arrow", offer: "help", none: "minus" };

function Answer() {
  const { value } = route;
  return h("div", { class: ["answer", `answer-${value.decision}`, route.isWaiting && "is-old"], "aria-busy": route.isWaiting ? "true" : undefined },
    h("div", { class: "answer-line" }, h("span", { class: "answer-mark" }, h(Icon, { name: MARKS[value.decision] })),
      h("div", { role: "status" }, h(Sentence, { value }), value.notReady.map((match) => h(NotReady, { match })), value.notes.map((note) => h("p", { class: "meta break", key: note }, note)))),
    canTest() && h(SaveTest, { message: draft.trim(), isOld: route.isWaiting }));
}

function Candidate({ match, value }) {
  const isIn = value.matches.some(({ name }) => name === match.name);
  const word = { load: "would load", offer: "would be offered" }[value.decision];
  return h("li", { key: match.name, class: ["candidate", isIn && "candidate-in", place.query.why === match.name && "candidate-asked"] },
    h("div", { class: "candidate-words" },
      h("p", { class: "candidate-name" }, h("a", { href: link({ ...place.query, why: match.name }, "router"), "data-candidate": match.name, onclick: () => focusSoon("why-title") }, match.name), isIn && h("span", { class: "candidate-mark" }, word)),
      h("p", { class: "meta candidate-why break" }, match.reasons.join("; ") || "nothing in particular")),
    h("div", { class: "score-cell" }, h(ScoreBar, { match, thresholds: thresholds(value) })),
    h("span", { class: "score-number" }, scoreText(match.score)));
}

function Candidates() {
  const { value } = route;
  if (!value.considered.length) return h(Empty, { title: "No skill takes part.", action: h("a", { href: viewLink("skills") }, "See what this agent may use") });
  return h("section", { class: ["candidates", route.isWaiting && "is-old"], "aria-labelledby": "candidates-title" },
    h("div", { class: "candidates-head" }, h("h2", { id: "candidates-title" }, "Candidates"), h(ScoreLegend, { matches: value.considered }), h(ScoreAxis, { thresholds: thresholds(value) })),
    h("ol", null, value.considered.map((match) => h(Candidate, { match, value }))),
    h("div", { class: "candidates-foot" },
      h("p", { class: "meta" }, "Each bar is as long as the score and parted by what the signals added. The lines are where a skill is offered and loaded."),
      h(ScoreTable, { matches: value.considered, thresholds: thresholds(value) })));
}

function WhySelect() {
  return h("div", { class: "why-select" }, h(SkillField, { id: "why-skill", label: "Why not another skill?", placeholder: "Name of a skill", value: place.query.why ?? "", onchange: openWhy }));
}

const openWhy = (name) => go({ why: name || null });

// Once it is drawn: what was opened is where the keyboard goes on, and what is in view.
const focusSoon = (id) => onceDrawn(() => document.getElementById(id)?.focus());

function RecentRow({ one }) {
  const found = { load: `loads ${one.names.join(", ")}`, offer: `offers ${one.names.join(", ")}`, none: `no skill, best ${scoreText(Number(one.score) || 0)}` }[one.decision];
  return h("li", { key: one.message, class: "recent" }, h(Icon, { name: MARKS[one.decision] ?? "minus" }),
    h("div", null, h("button", { class: "message-button", type: "button", title: "Try this message again", onclick: () => use(one.message) }, one.message), h("p", { class: "meta break" }, found)));
}

function Recent() {
  const all = recentMessages(agentId());
  const without = all.filter(({ decision }) => decision === "none");
  const shown = recentFilter === "none" ? without : all;
  const options = [{ id: "all", label: "All", count: all.length }, { id: "none", label: "No match", count: without.length }];
  return h("section", { class: "side-part", "aria-labelledby": "recent-title" },
    h("header", { class: "side-head" }, h("h2", { id: "recent-title" }, "Recent messages"), h("span", { class: "meta" }, "in this tab only"),
      all.length > 0 && h(Button, { kind: "quiet", onclick: () => forgetMessages() }, "Clear")),
    all.length > 0 && h(Filters, { label: "Recent messages", options, value: recentFilter, onchange: (id) => { recentFilter = id; } }),
    shown.length ? h("ul", { class: "recents" }, shown.map((one) => h(RecentRow, { one })))
      : h("p", { class: "muted" }, all.length ? "Every message found a skill." : "What you try is listed here until the tab is closed."));
}

function Input() {
  return h("div", { class: "router-field" },
    h("label", { class: "visually-hidden", for: "router-message" }, "Message"),
    h("textarea", {
      id: "router-message", class: "input router-input", rows: 3, "data-search": true, maxlength: LONGEST, value: draft, spellcheck: "false",
      placeholder: "Type a message as a person would write it to the agent", oninput: (event) => type(event.currentTarget.value), onblur: settle,
    }),
    h("div", { class: "router-under" }, h("span", { class: "meta" }, route.value && draft.trim() && !route.isWaiting && gateway.state === "live" ? `answered in ${Math.max(1, Math.round(route.value.tookMs))} ms` : "It is not sent to the agent, and not counted."),
      h(Button, { kind: "quiet", icon: "copy", disabled: !draft.trim(), title: "The link holds the message", onclick: copyLink }, "Copy link")),
    h("details", { class: "router-before" }, h("summary", null, "What was said before"),
      h("textarea", {
        class: "input", rows: 4, maxlength: LONGEST, value: before, spellcheck: "false", "aria-label": "What was said before",
        placeholder: "One message a paragraph. Begin the agent's with “Agent:”.", oninput: (event) => { before = event.currentTarget.value; ask(); },
      })));
}

function Middle() {
  // An answer to something else, which no new one will replace for now, is no answer.
  const isOurs = route.asked?.message === draft.trim() && route.asked?.agent === agentId();
  if (draft.trim() && gateway.state !== "live" && !isOurs) return h("div", { class: "answer answer-waiting", role: "status" }, h("p", { class: "answer-words muted" }, "Waiting for the connection: the answer comes once the line is back."));
  if (route.error) return h(Failed, { error: route.error, doing: "The message could not be routed.", retry: () => route.again() });
  if (!draft.trim()) return h(Empty, { title: "Nothing asked yet.", command: "prowess route \"fill in this form\"" }, `Type a message to see which of ${count(skills().length, "skill")} ${agentName()} would use, and why not the others.`);
  if (!route.value) return h("div", { class: "answer answer-waiting", role: "status" }, h("p", { class: "answer-words muted" }, "Looking for a skill…"));
  return [h(Answer), h(Candidates)];
}

function describe() {
  const { why } = place.query;
  const message = route.asked?.agent === agentId() && draft.trim() ? route.asked.message : "";
  const isLoaded = Boolean(route.value?.decision === "load" && route.value.matches.some(({ name }) => name === why));
  return h("div", { class: "page-scroll" },
    h(PageHead, { title: "Router", scope: `Which skill ${agentName()} would use for a message. Looking changes nothing: no skill is loaded.` }),
    h("div", { class: "router" },
      h("div", { class: "router-main" }, h(Input), h(Middle)),
      h("aside", { class: "router-side", "aria-label": "More about routing" },
        h(WhySelect), why && h(WhyNot, { agent: agentId(), name: why, message, isLoaded }), h(TestList, { use }), h(Recent))));
}

function move(step) {
  const links = [...document.querySelectorAll("[data-candidate]")];
  const at = links.indexOf(document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
}

function closeWhy() {
  const { why } = place.query;
  if (!why) return;
  openWhy("");
  focusBack(why);
}

const keys = () => ({ j: () => move(1), k: () => move(-1), Escape: closeWhy });

const again = () => {
  if (place.view !== "router") return;
  route.again();
  askWhyAgain();
};

follow("connected", () => {
  if (place.view !== "router") return;
  route.again();
  askWhyAgain();
  arrive();
});
follow("skills.changed", ({ agentId: changed }) => changed === agentId() && again());
follow("config.changed", again);

export const router = { label: "Router", search: "", describe, keys, arrive };
