// Missed activations: in real sessions a skill was listed and meant, and was not used. What people
// wrote is asked of the gateway only once somebody opens a message, and forgotten with the page.

import { gateway } from "../app.js";
import { h, redraw } from "../dom.js";
import { viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { complain } from "../toasts.js";
import { HARNESSES, ago, count } from "../words.js";
import { Button, Chip, Empty, Loaded } from "./basics.js";
import { scoreText } from "../charts/score_bar.js";

const READING_MS = 180_000;
const MOST_DAYS = 90;
const FEW = 6;

const missed = new Resource(({ days, fresh }) => gateway.request("sessions.missed", { days, ...(fresh ? { fresh } : {}) }, { timeout: READING_MS }));
const idOf = ({ harness, sessionId, turn, skill }) => [harness, sessionId, turn, skill].join("\n");

// The messages of the answer that is shown, once one was opened; and which of them are open.
let revealed = null;
let revealing = "";
const open = new Set();
let isWhole = false;

export const canMiss = () => gateway.hello?.features?.methods?.includes("sessions.missed") ?? false;

export function fetchMissed(days) {
  if (!canMiss()) return;
  const wanted = { days: Math.min(days, MOST_DAYS) };
  if (missed.asked?.days === wanted.days && missed.state !== "failed") return;
  forget();
  missed.load(wanted);
}

export function readAgain() {
  forget();
  missed.load({ days: missed.asked.days, fresh: true });
}

function forget() {
  revealed = null;
  open.clear();
}

async function reveal(one) {
  const id = idOf(one);
  if (open.delete(id)) return;
  const { days } = missed.asked;
  revealing = id;
  redraw();
  try {
    if (!revealed) {
      const found = await gateway.request("sessions.missed", { days, reveal: true }, { timeout: READING_MS });
      // Meanwhile other days may be shown.
      if (missed.asked.days !== days) return;
      revealed = new Map(found.missed.map((each) => [idOf(each), each]));
    }
    open.add(id);
  } catch (error) {
    complain(error, "The message cannot be shown.");
  } finally {
    revealing = "";
    redraw();
  }
}

function Words({ one, tryMessage }) {
  const shown = revealed?.get(idOf(one));
  const isOpen = open.has(idOf(one));
  return h("div", { class: "missed-words" },
    isOpen ? h("blockquote", { class: "missed-quote break" }, shown?.prompt || "The message is no longer there.") : h("p", { class: "missed-mask", "aria-hidden": "true" }, "••••••• •••• ••••••••• •••"),
    isOpen && shown?.proof?.prompt && h("p", { class: "meta break" }, `Afterwards: “${shown.proof.prompt}”`),
    h("p", { class: "line" }, h(Button, { kind: "quiet", busy: revealing === idOf(one), "aria-expanded": String(isOpen), onclick: () => reveal(one) }, isOpen ? "Hide the message" : "Show the message"),
      isOpen && shown?.prompt && h(Button, { kind: "quiet", icon: "router", onclick: () => tryMessage(shown.prompt) }, "Try it in the router")));
}

function asSentence(reasons) {
  const words = reasons.join("; ");
  return words ? `${words[0].toUpperCase()}${words.slice(1)}.` : "";
}

function Row({ one, tryMessage }) {
  return h("li", { key: idOf(one), class: "missed" },
    h("div", null,
      h("p", { class: "missed-name" }, h("a", { href: viewLink("skills", { skill: one.skill }) }, one.skill), one.kind === "missed" ? h(Chip, { tone: "needs" }, "Missed") : h(Chip, { tone: "slate" }, "Probably")),
      h("p", { class: "break" }, asSentence(one.reasons)),
      h("p", { class: "meta" }, [HARNESSES[one.harness] ?? one.harness, one.at ? ago(one.at) : "", `score ${scoreText(one.score)}`].filter(Boolean).join(" · "))),
    h(Words, { one, tryMessage }));
}

function Found({ value, tryMessage }) {
  const looked = `${count(value.sessions, "session")} with ${count(value.prompts, "prompt")} read, ${value.corrected} corrected${value.problems ? `, ${count(value.problems, "file")} not readable` : ""}.`;
  if (!value.sessions) return h(Empty, { title: "No sessions of these days were found.", command: "prowess connect claude-code" }, "Sessions of Claude Code, Codex and Gemini CLI on this machine are read. Connect one, and what it misses is shown here.");
  if (!value.missed.length) return h("p", { class: "muted" }, `No skill was missed. ${looked}`);
  const shown = isWhole ? value.missed : value.missed.slice(0, FEW);
  return [
    h("p", { class: "muted" }, looked, " A miss is proved by what the person did next; “probably” means only that the router was sure. ", value.notes.join(" ")),
    h("ul", { class: "missed-list" }, shown.map((one) => h(Row, { one, tryMessage }))),
    value.missed.length > FEW && h("div", null, h(Button, { kind: "quiet", onclick: () => { isWhole = !isWhole; } }, isWhole ? "Show fewer" : `Show all ${value.missed.length}`)),
    value.total > value.missed.length && isWhole && h("p", { class: "meta" }, `${value.total - value.missed.length} more are in “prowess sessions --missed”.`)];
}

// `tryMessage` takes a message that was opened to the router.
export function Missed({ tryMessage }) {
  return h("section", { class: "activity-part", "aria-labelledby": "missed-title" },
    h("header", { class: "part-head" }, h("h2", { id: "missed-title" }, "Missed activations"), h("p", { class: "meta" }, "in the sessions of every harness on this machine"),
      canMiss() && missed.state === "ready" && h(Button, { kind: "quiet", busy: missed.busy, onclick: readAgain }, "Read again")),
    canMiss() ? h(Loaded, { of: missed, doing: "The sessions could not be read.", rows: 2, describe: (value) => h(Found, { value, tryMessage }) })
      : h(Empty, { title: "This gateway does not read sessions.", command: "prowess sessions --missed" }, "The terminal does."));
}
