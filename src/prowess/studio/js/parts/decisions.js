// The questions of the workshop: apply, reject, revise, roll back. One dialog at a time; what was
// typed stays when the gateway refuses, and a text that was begun is there when it is opened again.

import { agentId, gateway, waiting } from "../app.js";
import { h, redraw } from "../dom.js";
import { go, onArrival, place } from "../place.js";
import { complain, toast } from "../toasts.js";
import { Button, Dialog } from "./basics.js";

let question = null;

// Texts that were begun and not saved, by the revision they change.
const begun = new Map();

// The answer goes to the agent whose proposal it is, whoever is shown by then.
export function ask(kind, about) {
  question = { agent: agentId(), ...about, kind, reason: "", text: begun.get(about.revision) ?? about.content ?? "", busy: false, problem: "" };
}

function close() {
  if (question?.kind === "revise" && question.text !== question.content) begun.set(question.revision, question.text);
  question = null;
}

// Who goes elsewhere is asked nothing about what was left behind.
onArrival(() => question && (place.view !== "workshop" || place.query.proposal !== question.record.id) && close());

// From a message that may be answered on any page.
function askAgain(kind, asked) {
  go({ settingsAgentId: asked.agent, proposal: asked.record.id }, { view: "workshop" });
  ask(kind, asked);
}

const ABOUT = {
  apply: { title: ({ record }) => (record.kind === "create" ? `Create the skill ${record.skillName}?` : `Apply to ${record.skillName}?`), words: ({ record }) => `It writes ${record.target?.skillFile ?? "the skill"}. Every agent that uses this workspace sees it. You can roll back later.`, button: ({ record }) => (record.kind === "create" ? `Create ${record.skillName}` : `Apply to ${record.skillName}`), done: ({ record }) => `${record.skillName} was written.` },
  reject: { title: ({ record }) => `Reject “${record.title}”?`, words: () => "Nothing is written, and the same lesson does not come again.", button: () => "Reject", done: () => "The proposal was rejected.", reason: "Why (kept with it, optional)" },
  rollback: { title: ({ record }) => `Roll back ${record.skillName}?`, words: ({ record }) => (record.kind === "create" ? `The skill ${record.skillName} is taken away again.` : `${record.skillName} gets back the text that it had before.`), button: ({ record }) => `Roll back ${record.skillName}`, done: ({ record }) => `${record.skillName} was rolled back.`, danger: true },
  revise: { title: ({ record }) => `Revise what is proposed for ${record.skillName}`, words: () => "Change the text that would be written. It is scanned again, and still waits for your yes.", button: () => "Save the new text", done: () => "The proposal was worded anew." },
};

async function decide() {
  const asked = question;
  if (asked.busy) return;
  const { kind, record, revision, reason, text } = asked;
  asked.busy = true;
  asked.problem = "";
  redraw();
  try {
    await gateway.request(`skills.proposals.${kind}`, {
      agentId: asked.agent, proposalId: record.id, expectedRevisionHash: revision,
      ...(kind === "revise" ? { content: text } : reason.trim() ? { reason: reason.trim() } : {}),
    });
    if (question === asked) question = null;
    begun.delete(revision);
    const undo = kind === "apply" ? { label: "Roll back", run: () => askAgain("rollback", asked) } : null;
    toast(ABOUT[kind].done(asked), { action: undo });
    waiting.reload();
  } catch (error) {
    asked.problem = error.message;
    if (question !== asked) complain(error, `${record.skillName}: the answer was not taken.`);
  }
  asked.busy = false;
  redraw();
}

export function Decisions() {
  if (!question) return null;
  const about = ABOUT[question.kind];
  const send = (event) => {
    event.preventDefault();
    decide();
  };
  return h(Dialog, { key: `ask ${question.kind}`, label: about.title(question), onclose: close, wide: question.kind === "revise" },
    h("form", { class: "stack", onsubmit: send },
      h("h2", { class: "break" }, about.title(question)), h("p", { class: "muted break" }, about.words(question)),
      about.reason && h("div", { class: "field" }, h("label", { for: "decision-reason" }, about.reason), h("input", { id: "decision-reason", class: "input", maxlength: 2000, value: question.reason, oninput: (event) => { question.reason = event.currentTarget.value; } })),
      question.kind === "revise" && h("div", { class: "field" }, h("label", { for: "decision-text" }, "Text of SKILL.md"), h("textarea", { id: "decision-text", class: "input mono", rows: 18, spellcheck: "false", value: question.text, oninput: (event) => { question.text = event.currentTarget.value; } })),
      question.problem && h("p", { class: "note note-danger", role: "alert" }, question.problem),
      h("div", { class: "dialog-actions" }, h(Button, { onclick: close }, "Cancel"), h(Button, { type: "submit", kind: about.danger ? "danger" : "primary", busy: question.busy, disabled: question.kind === "revise" && (!question.text.trim() || question.text === question.content) }, about.button(question)))));
}
