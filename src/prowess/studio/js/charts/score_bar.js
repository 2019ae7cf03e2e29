// A skill's score for a message as a bar: as long as the score, and parted by what each signal
// added. The evidence behind a score is no share of it, so the parts are in proportion only; the
// exact worth of each signal is in the table, which says all that the drawing says.

import { h } from "../dom.js";

const SIGNALS = [
  { id: "meaning", label: "Meaning", parts: ["meaning", "phrase"] },
  { id: "words", label: "Words", parts: ["words"] },
  { id: "name", label: "Name", parts: ["name", "named"] },
  { id: "hints", label: "Triggers and files", parts: ["trigger", "path"] },
];
const KNOWN = new Set(SIGNALS.flatMap(({ parts }) => parts));
const AGAINST = {
  breadth: "it fits many messages",
  common: "the shared words are in many skills",
  negation: "the message is nearer to what it is not for",
  judged: "a closer look found others better",
};

export const scoreText = (score) => score.toFixed(2);
const percent = (share) => `${(100 * share).toFixed(2)}%`;
const inHundred = (share) => `${Math.round(100 * share)} %`;
const sum = (values) => values.reduce((total, value) => total + value, 0);

// What speaks for a skill: [{id, label, worth, share}]; the shares make one together.
export function signalsOf(match) {
  const signals = match.signals ?? {};
  const found = SIGNALS.map(({ id, label, parts }) => ({ id, label, worth: sum(parts.map((part) => Math.max(0, signals[part] ?? 0))) }));
  const others = sum(Object.entries(signals).map(([name, worth]) => (KNOWN.has(name) ? 0 : Math.max(0, worth))));
  const all = [...found, { id: "other", label: "Other", worth: others }].filter(({ worth }) => worth > 0);
  const total = sum(all.map(({ worth }) => worth));
  return all.map((one) => ({ ...one, share: one.worth / total }));
}

// What speaks against it: [{name, words, worth}].
export const heldBack = (match) => Object.entries(match.signals ?? {}).filter(([, worth]) => worth < 0)
  .map(([name, worth]) => ({ name, worth, words: AGAINST[name] ?? name }));

function said(match, thresholds) {
  const parts = signalsOf(match).map(({ label, share }) => `${label.toLowerCase()} ${inHundred(share)}`);
  return `Score ${scoreText(match.score)} of 1${parts.length ? `, by ${parts.join(", ")}` : ""}; loaded from ${scoreText(thresholds.load)} on`;
}

// Percentages for the length and pixels for the height: the drawing needs to know no size.
export function ScoreBar({ match, thresholds }) {
  let from = 0;
  const parts = signalsOf(match);
  const shown = parts.length ? parts : [{ id: "other", share: 1 }];
  return h("svg", { class: "score-bar", role: "img", "aria-label": said(match, thresholds) },
    h("rect", { class: "score-track", x: 0, y: "50%", width: "100%", height: 10, transform: "translate(0 -5)" }),
    shown.map(({ id, share }) => {
      const x = from;
      from += share * match.score;
      return h("rect", { key: id, class: `score-part signal-${id}`, x: percent(x), y: "50%", width: percent(share * match.score), height: 10, transform: "translate(0 -5)" });
    }),
    thresholds.offer !== undefined && h(Threshold, { at: thresholds.offer, kind: "offer" }), h(Threshold, { at: thresholds.load, kind: "load" }));
}

const Threshold = ({ at, kind }) => h("line", { key: kind, class: `score-line score-line-${kind}`, x1: percent(at), x2: percent(at), y1: 0, y2: "100%" });

// Above a column of bars: what their lines stand for.
export function ScoreAxis({ thresholds }) {
  const mark = (at, words) => h("span", { style: { left: percent(at) } }, words);
  return h("div", { class: "score-axis", "aria-hidden": "true" }, mark(thresholds.offer, `offer ${scoreText(thresholds.offer)}`), mark(thresholds.load, `load ${scoreText(thresholds.load)}`));
}

// Only the signals that some bar shows.
export function ScoreLegend({ matches }) {
  const shown = new Set(matches.flatMap((match) => signalsOf(match).map(({ id }) => id)));
  return h("ul", { class: "legend", "aria-label": "Signals" },
    SIGNALS.filter(({ id }) => shown.has(id)).map(({ id, label }) => h("li", { key: id },
      h("svg", { class: "swatch", "aria-hidden": "true" }, h("rect", { class: `signal-${id}`, width: "100%", height: "100%" })), label)));
}

// The same in numbers.
export function ScoreTable({ matches, thresholds }) {
  const columns = SIGNALS.filter(({ id }) => matches.some((match) => signalsOf(match).some((one) => one.id === id)));
  const worth = (match, id) => signalsOf(match).find((one) => one.id === id)?.worth;
  const number = (value) => h("td", { class: "number" }, value === undefined ? "–" : value.toFixed(3));
  return h("details", { class: "numbers" }, h("summary", null, "Show the numbers"),
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Scores in numbers" },
      h("table", { class: "table" },
        h("caption", null, `Loaded from ${scoreText(thresholds.load)} on, offered from ${scoreText(thresholds.offer)} on. Signals are evidence; the score is made of their sum.`),
        h("thead", null, h("tr", null, h("th", { scope: "col" }, "Skill"), h("th", { scope: "col", class: "number" }, "Score"), columns.map(({ id, label }) => h("th", { key: id, scope: "col", class: "number" }, label)), h("th", { scope: "col" }, "Held back because"))),
        h("tbody", null, matches.map((match) => h("tr", { key: match.name },
          h("th", { scope: "row" }, match.name), h("td", { class: "number" }, match.score.toFixed(3)), columns.map(({ id }) => number(worth(match, id))),
          h("td", null, heldBack(match).map(({ words, worth: lost }) => `${words} (−${Math.abs(lost).toFixed(3)})`).join("; ") || "–")))))));
}
