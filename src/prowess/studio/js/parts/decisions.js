// The questions of the workshop: apply, reject, revise, roll back. One dialog at a time; what was
// typed stays when the gateway refuses, and a text that was begun is there when it is opened again.

import { agentId, gateway, waiting } from "../app.js";
import { h, redraw } from "../dom.js";
import { go, onArrival, place } from "../place.js";
import { complain, toast } from "../toasts.js";
import { Button, Dialog } from "./basics.js";
import { Words, begin, catchUp, changed, forget, isReady, keep } from "./revision.js";

let question = null;
let decided = () => {};
export const whenDecided = (called) => { decided = called; };
// The proposal that is being brought up to date.
let renewing = "";

// The answer goes to the agent whose proposal it is, whoever is shown by then. `done` is called with
// what the gateway says the proposal is now, and `looked` with what it turned out to be meanwhile.
export function ask(kind, about) {
  question = { agent: agentId(), ...about, kind, reason: "", busy: false, problem: "" };
  if (kind === "revise") Object.assign(question, begin(question));
}

// Whether the page waits for what it asked for itself.
export const isDeciding = (id) => renewing === id || Boolean(question?.busy && question.record.id === id);
export const isRenewing = (id) => renewing === id;

function close() {
  if (question?.kind === "revise") keep(question);
  question = null;
  settleFocus();
}

// What had the focus may be gone with the decision: then the title has it, and reads out the rest.
function settleFocus({ always = false } = {}) {
  redraw();
  const title = () => document.getElementById("page-title")?.focus();
  requestAnimationFrame(() => (always || document.activeElement === document.body) && title());
}

// Who goes elsewhere is asked nothing about what was left behind.
onArrival(() => question && (place.view !== "workshop" || place.query.proposal !== question.record.id) && close());

// From a message that may be answered on any page.
function askAgain(kind, asked) {
  go({ settingsAgentId: asked.agent, proposal: asked.record.id }, { view: "workshop" });
  ask(kind, asked);
}

// What changes, in the inbox, as the title of its page and where it is asked about: titles of agents often
// say nothing. Only the inbox has the words; until it is there, the title stands for them.
export function saysWhat({ id, kind, skillName, title }) {
  const change = waiting.value?.proposals.find((one) => one.id === id)?.change;
  if (kind === "create") return `New skill: ${skillName}`;
  if (change?.words) return `${skillName}${change.section ? `, ${change.section}` : ""}: ${change.words.replace(/^[-*\d.\s]+/, "")}`;
  return change?.files.length ? `${skillName}: ${change.files.join(", ")}` : title;
}

const ABOUT = {
  apply: { title: ({ record }) => (record.kind === "create" ? `Create the skill ${record.skillName}?` : `Apply to ${record.skillName}?`), words: ({ record }) => `It writes ${record.target?.skillFile ?? "the skill"}. Every agent that uses this workspace sees it. You can roll back later.`, button: ({ record }) => (record.kind === "create" ? `Create ${record.skillName}` : `Apply to ${record.skillName}`), done: ({ record }) => `${record.skillName} was written.` },
  reject: { title: ({ record }) => `Reject “${saysWhat(record)}”?`, words: () => "Nothing is written, and the same lesson does not come again.", button: () => "Reject", done: () => "The proposal was rejected.", reason: "Why (kept with it, optional)" },
  rollback: { title: ({ record }) => `Roll back ${record.skillName}?`, words: ({ record }) => (record.kind === "create" ? `The skill ${record.skillName} is taken away again.` : `${record.skillName} gets back the text that it had before.`), button: ({ record }) => `Roll back ${record.skillName}`, done: ({ record }) => `${record.skillName} was rolled back.`, danger: true },
  revise: { title: ({ record }) => `Revise what is proposed for ${record.skillName}`, words: () => "Change the words that were proposed. They are scanned again, and still wait for your yes.", button: ({ isLate }) => (isLate ? "Save over the new one" : "Save the new text"), done: () => "The proposal was worded anew." },
};

const QUARANTINED = "The scanner refuses the text, so the proposal is quarantined: it cannot be applied any more.";

// Hashes tell a person nothing: what is meant is that something is not what was seen.
const plainly = (message) => message.replace(/ \(expected [0-9a-f]*, found [0-9a-f]*\)/g, "");
const isTooLate = (error) => error.details?.reason === "proposal.stale";

function paramsOf(asked) {
  const { kind, reason } = asked;
  const said = kind === "revise" ? changed(asked) : reason.trim() ? { reason: reason.trim() } : {};
  return { agentId: asked.agent, proposalId: asked.record.id, expectedRevisionHash: asked.revision, ...said };
}

async function decide() {
  const asked = question;
  const { kind } = asked;
  if (asked.busy) return;
  asked.busy = true;
  asked.problem = "";
  redraw();
  try {
    const answer = await gateway.request(`skills.proposals.${kind}`, paramsOf(asked));
    forget(asked);
    asked.done?.(answer);
    if (question === asked) {
      question = null;
      settleFocus({ always: true });
    }
    tell(asked, answer);
    decided({ id: asked.record.id, kind });
    waiting.reload();
  } catch (error) {
    await refused(asked, error);
  }
  asked.busy = false;
  redraw();
}

function tell(asked, answer) {
  if (asked.kind === "revise" && answer.record?.status === "quarantined") {
    toast(QUARANTINED, { tone: "danger" });
    return;
  }
  const undo = asked.kind === "apply" ? { label: "Roll back", run: () => askAgain("rollback", asked) } : null;
  toast(ABOUT[asked.kind].done(asked), { action: undo });
}

async function refused(asked, error) {
  if (asked.kind === "revise" && isTooLate(error)) {
    try {
      await catchUp(asked);
    } catch (other) {
      asked.problem = other.message;
    }
  } else asked.problem = plainly(error.message);
  if (question === asked) return;
  if (asked.kind === "revise") keep(asked);
  complain(new Error(plainly(error.message)), `${asked.record.skillName}: the answer was not taken.`);
}

const RENEWED = { pending: "The proposal is up to date: you can apply it now.", stale: "The proposal was set aside. The same lesson may come again." };

// A proposal whose skill changed, worked out anew; without a place in its text of now it is set aside.
export async function renew({ record, revision, done }) {
  if (renewing) return;
  renewing = record.id;
  redraw();
  try {
    const answer = await gateway.request("skills.proposals.revise", { agentId: agentId(), proposalId: record.id, expectedRevisionHash: revision });
    done(answer);
    const words = RENEWED[answer.record.status];
    toast(words ?? QUARANTINED, words ? {} : { tone: "danger" });
    waiting.reload();
  } catch (error) {
    complain(new Error(plainly(error.message)), "The proposal was not brought up to date.");
  }
  renewing = "";
  settleFocus();
}

export function Decisions() {
  if (!question) return null;
  const about = ABOUT[question.kind];
  const isRevised = question.kind === "revise";
  const send = (event) => {
    event.preventDefault();
    decide();
  };
  return h(Dialog, { key: `ask ${question.kind}`, label: about.title(question), onclose: close, wide: isRevised },
    h("form", { class: "stack", onsubmit: send },
      h("h2", { class: "break" }, about.title(question)), h("p", { class: "muted break" }, about.words(question)),
      about.reason && h("div", { class: "field" }, h("label", { for: "decision-reason" }, about.reason), h("input", { id: "decision-reason", class: "input", maxlength: 2000, value: question.reason, oninput: (event) => { question.reason = event.currentTarget.value; } })),
      isRevised && h(Words, { asked: question }),
      question.problem && h("p", { class: "note note-danger", role: "alert" }, question.problem),
      h("div", { class: "dialog-actions" }, h(Button, { onclick: close }, "Cancel"), h(Button, { type: "submit", autofocus: !about.danger && !about.reason && !isRevised, kind: about.danger ? "danger" : "primary", busy: question.busy, disabled: isRevised && !isReady(question) && !question.busy }, about.button(question)))));
}
