// The questions of the workshop: apply, reject, revise, roll back. One dialog at a time; what was
// typed stays when the gateway refuses.

import { agentId, gateway, waiting } from "../app.js";
import { h, redraw } from "../dom.js";
import { toast } from "../toasts.js";
import { Button, Dialog } from "./basics.js";

let question = null;

export function ask(kind, about) {
  question = { kind, ...about, reason: "", text: about.content ?? "", busy: false, problem: "" };
}

const close = () => { question = null; };

const ABOUT = {
  apply: { title: ({ record }) => (record.kind === "create" ? `Create the skill ${record.skillName}?` : `Apply to ${record.skillName}?`), words: ({ record }) => `It writes ${record.target?.skillFile ?? "the skill"}. Every agent that uses this workspace sees it. You can roll back later.`, button: ({ record }) => (record.kind === "create" ? `Create ${record.skillName}` : `Apply to ${record.skillName}`), done: ({ record }) => `${record.skillName} was written.` },
  reject: { title: () => "Reject this proposal?", words: () => "Nothing is written, and the same lesson does not come again.", button: () => "Reject", done: () => "The proposal was rejected.", reason: "Why (kept with it, optional)" },
  rollback: { title: ({ record }) => `Roll back ${record.skillName}?`, words: ({ record }) => (record.kind === "create" ? `The skill ${record.skillName} is taken away again.` : `${record.skillName} gets back the text that it had before.`), button: ({ record }) => `Roll back ${record.skillName}`, done: ({ record }) => `${record.skillName} was rolled back.`, danger: true },
  revise: { title: ({ record }) => `Revise what is proposed for ${record.skillName}`, words: () => "Change the text that would be written. It is scanned again, and still waits for your yes.", button: () => "Save the new text", done: () => "The proposal was worded anew." },
};

async function decide() {
  const asked = question;
  const { kind, record, revision, reason, text } = asked;
  asked.busy = true;
  asked.problem = "";
  redraw();
  try {
    await gateway.request(`skills.proposals.${kind}`, {
      agentId: agentId(), proposalId: record.id, expectedRevisionHash: revision,
      ...(kind === "revise" ? { content: text } : reason.trim() ? { reason: reason.trim() } : {}),
    });
    if (question === asked) close();
    const undo = kind === "apply" ? { label: "Roll back", run: () => ask("rollback", asked) } : null;
    toast(ABOUT[kind].done(asked), { action: undo });
    waiting.reload();
  } catch (error) {
    asked.problem = error.message;
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
      h("h2", null, about.title(question)), h("p", { class: "muted break" }, about.words(question)),
      about.reason && h("div", { class: "field" }, h("label", { for: "decision-reason" }, about.reason), h("input", { id: "decision-reason", class: "input", maxlength: 2000, value: question.reason, oninput: (event) => { question.reason = event.currentTarget.value; } })),
      question.kind === "revise" && h("div", { class: "field" }, h("label", { for: "decision-text" }, "Text of SKILL.md"), h("textarea", { id: "decision-text", class: "input mono", rows: 18, spellcheck: "false", value: question.text, oninput: (event) => { question.text = event.currentTarget.value; } })),
      question.problem && h("p", { class: "note note-danger", role: "alert" }, question.problem),
      h("div", { class: "dialog-actions" }, h(Button, { onclick: close }, "Cancel"), h(Button, { type: "submit", kind: about.danger ? "danger" : "primary", busy: question.busy, disabled: question.kind === "revise" && (!question.text.trim() || question.text === question.content) }, about.button(question)))));
}
