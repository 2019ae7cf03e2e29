// Other words for what is proposed: only the words that were asked for are edited, never the file
// that they end up in. What somebody began stays with its proposal until it is saved, also where
// another person worded the proposal anew meanwhile.

import { gateway } from "../app.js";
import { h, redraw } from "../dom.js";
import { Button } from "./basics.js";
import { Diff } from "./diff.js";

const NOTHING = { content: "" };
const NONE = [];

// By agent and proposal: the words that were begun, and the ones that they began with.
const drafts = new Map();
const nameOf = ({ agent, record }) => `${agent} ${record.id}`;
const isOther = (one, other) => one.content !== other.content || one.description !== other.description;

// What a question about revising knows beside the rest. `base` is what would be replaced.
export function begin(asked) {
  const base = asked.editable ?? NOTHING;
  const draft = drafts.get(nameOf(asked));
  const words = draft?.words ?? { content: base.content, description: base.description };
  return { base, words, began: draft?.began ?? base, isLate: Boolean(draft) && isOther(draft.began, base), isCompared: false, opened: new Set() };
}

export function keep(asked) {
  if (isOther(asked.words, asked.base)) drafts.set(nameOf(asked), { words: asked.words, began: asked.began });
  else drafts.delete(nameOf(asked));
}

export const forget = (asked) => drafts.delete(nameOf(asked));

// Only what was changed is sent: the rest stays, byte for byte.
export function changed({ words, base }) {
  return { ...(words.content === base.content ? {} : { content: words.content }), ...(words.description === base.description ? {} : { description: words.description }) };
}

export function isReady({ words, base }) {
  const isEmptied = !words.content.trim() && words.content !== base.content;
  return isOther(words, base) && !isEmptied && (words.description === base.description || Boolean(words.description.trim()));
}

// Somebody was faster: what was typed stays, and what they wrote is what would be replaced now.
export async function catchUp(asked) {
  const now = await gateway.request("skills.proposals.inspect", { agentId: asked.agent, proposalId: asked.record.id });
  if (now.record.status !== "pending") throw new Error(`The proposal is ${now.record.status} by now, so it cannot be revised any more. Your text is still here: copy it if you need it.`);
  asked.looked?.(now);
  asked.base = now.editable ?? NOTHING;
  asked.revision = now.revisionHash;
  asked.isLate = isOther(asked.began, asked.base);
  if (!asked.isLate) asked.problem = "The skill changed meanwhile. Save once more to put your words into its text of now.";
  redraw();
}

const LABELS = {
  skill: () => "Text of the new skill",
  section: ({ section }) => `Text of the section ${section}`,
  addition: ({ section }) => `Text that is added to ${section}`,
  merge: () => "Text that is merged into the skill",
  phrase: () => "Text that replaces this phrase",
  whole: () => "Whole text",
};
const HINTS = {
  skill: "The lines above it, such as its name, are written by the workshop.",
  merge: "Each section goes to the end of the one with that name.",
  whole: "It replaces all that stands below the frontmatter, which stays as it is.",
};
export const wordsLabel = (editable) => LABELS[editable?.part]?.(editable) ?? "Text";

const written = ({ content, description }) => `${description ? `${description}\n\n` : ""}${content}`;

function Late({ asked }) {
  return h("div", { class: "note note-needs stack", role: "alert" },
    h("p", null, "Somebody worded this proposal anew while you were writing. Your text is still here, and nothing was saved yet."),
    h("div", { class: "line" },
      h(Button, { "aria-expanded": String(asked.isCompared), onclick: () => { asked.isCompared = !asked.isCompared; } }, asked.isCompared ? "Hide what changed" : "Show what changed"),
      h(Button, { onclick: () => startAnew(asked) }, "Start from the new text")),
    asked.isCompared && h(Diff, { before: written(asked.began), after: written(asked.base), path: "what changed", label: "What somebody else changed", findings: NONE, opened: asked.opened }));
}

function startAnew(asked) {
  forget(asked);
  Object.assign(asked, { words: { content: asked.base.content, description: asked.base.description }, began: asked.base, isLate: false, isCompared: false, problem: "" });
  requestAnimationFrame(() => document.getElementById("decision-text")?.focus());
}

export function Words({ asked }) {
  const { base, words } = asked;
  const typed = (name) => (event) => { asked.words = { ...asked.words, [name]: event.currentTarget.value }; };
  const about = base.description !== undefined && h("div", { class: "field", key: "about" }, h("label", { for: "decision-description" }, "Description"),
    h("textarea", { id: "decision-description", class: "input", rows: 3, maxlength: 1024, "aria-describedby": "decision-description-hint", value: words.description, oninput: typed("description") }),
    h("p", { class: "meta", id: "decision-description-hint" }, "By it agents decide when to use the skill."));
  const isNew = ["skill", "section"].includes(base.part);
  return h("div", { class: "stack", key: "words" },
    asked.isLate && h(Late, { asked }),
    isNew && about,
    base.part === "phrase" && base.oldText && h("div", { class: "field" }, h("p", { class: "field-name" }, "The phrase"), h("pre", { class: "phrase mono", tabindex: 0, role: "group", "aria-label": "The phrase that is replaced" }, base.oldText)),
    h("div", { class: "field" }, h("label", { for: "decision-text" }, wordsLabel(base)),
      h("textarea", { id: "decision-text", autofocus: !isNew, class: "input mono", rows: rowsOf(words.content), spellcheck: "false", "aria-describedby": HINTS[base.part] ? "decision-text-hint" : undefined, value: words.content, oninput: typed("content") }),
      HINTS[base.part] && h("p", { class: "meta", id: "decision-text-hint" }, HINTS[base.part])),
    !isNew && about);
}

const rowsOf = (text) => Math.min(16, Math.max(5, text.split("\n").reduce((rows, line) => rows + 1 + Math.floor(line.length / 80), 2)));
