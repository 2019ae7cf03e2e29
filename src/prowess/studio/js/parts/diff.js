// What changes between two texts: lines side by side on a wide page, one below the other on a
// narrow one, each change marked by a sign too. Findings are pinned to the line they speak of.

import { h } from "../dom.js";
import { Chip } from "./basics.js";

const CONTEXT = 3;
const MOST_CELLS = 4_000_000;

// Rows of {kind: "same" | "added" | "removed" | "changed", left?, right?} with {line, text}.
export function compare(before, after) {
  const left = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const right = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const steps = [
    ...Array.from({ length: start }, (_, place) => ["same", place, place]),
    ...middle(left.slice(start, left.length - end), right.slice(start, right.length - end), start),
    ...Array.from({ length: end }, (_, place) => ["same", left.length - end + place, right.length - end + place]),
  ];
  return paired(steps.map(([kind, a, b]) => ({
    kind, left: kind === "added" ? undefined : { line: a + 1, text: left[a] }, right: kind === "removed" ? undefined : { line: b + 1, text: right[b] },
  })));
}

// The longest common part by table; texts that would make it huge are shown as replaced.
function middle(left, right, start) {
  const all = () => [...left.map((_, a) => ["removed", start + a]), ...right.map((_, b) => ["added", undefined, start + b])];
  if (left.length * right.length > MOST_CELLS) return all();
  const width = right.length + 1;
  const longest = new Uint32Array((left.length + 1) * width);
  for (let a = left.length - 1; a >= 0; a -= 1) {
    for (let b = right.length - 1; b >= 0; b -= 1) {
      longest[a * width + b] = left[a] === right[b] ? longest[(a + 1) * width + b + 1] + 1 : Math.max(longest[(a + 1) * width + b], longest[a * width + b + 1]);
    }
  }
  const steps = [];
  let a = 0;
  let b = 0;
  while (a < left.length || b < right.length) {
    if (a < left.length && b < right.length && left[a] === right[b]) steps.push(["same", start + a++, start + b++]);
    else if (b >= right.length || (a < left.length && longest[(a + 1) * width + b] >= longest[a * width + b + 1])) steps.push(["removed", start + a++]);
    else steps.push(["added", undefined, start + b++]);
  }
  return steps;
}

// What was removed and what was added in its place stand beside each other.
function paired(rows) {
  const found = [];
  for (let place = 0; place < rows.length;) {
    if (rows[place].kind === "same") {
      found.push(rows[place++]);
      continue;
    }
    const removed = [];
    const added = [];
    while (rows[place] && rows[place].kind !== "same") (rows[place].kind === "removed" ? removed : added).push(rows[place++]);
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      const [one, other] = [removed[at], added[at]];
      found.push(one && other ? { kind: "changed", left: one.left, right: other.right } : one ?? other);
    }
  }
  return found;
}

// Long stretches without change are folded; `opened` holds those that a person unfolded.
function folded(rows, findings, opened) {
  const near = new Set();
  rows.forEach((row, place) => {
    if (row.kind === "same" && !findings.has(row.right?.line)) return;
    for (let at = place - CONTEXT; at <= place + CONTEXT; at += 1) near.add(at);
  });
  const shown = [];
  for (let place = 0; place < rows.length;) {
    let end = place;
    while (end < rows.length && !near.has(end)) end += 1;
    if (end - place > 2 && !opened.has(place)) shown.push({ kind: "fold", place, lines: end - place });
    else for (let at = place; at < end; at += 1) shown.push(rows[at]);
    place = end;
    while (place < rows.length && near.has(place)) shown.push(rows[place++]);
  }
  return shown;
}

const SIGNS = { added: "+", removed: "−", changed: "±", same: "" };

export function Diff({ before, after, findings = [], opened, label }) {
  const byLine = new Map();
  for (const finding of findings) byLine.set(finding.line, [...(byLine.get(finding.line) ?? []), finding]);
  const rows = folded(compare(before ?? "", after ?? ""), byLine, opened);
  const isNew = !before;
  const cell = (side, row, which) => [
    h("span", { class: "diff-number", "aria-hidden": "true" }, side?.line ?? ""),
    h("span", { class: ["diff-text", side && row.kind !== "same" && `diff-${which}`, !side && "diff-none"] },
      side && row.kind !== "same" && h("span", { class: "diff-sign" }, h("span", { class: "visually-hidden" }, which === "removed" ? "removed: " : "added: "), h("span", { "aria-hidden": "true" }, which === "removed" ? "−" : "+")),
      side ? words(side.text, row, which) : "")];
  return h("div", { class: ["diff", isNew && "diff-new"], role: "group", "aria-label": label, tabindex: 0 },
    rows.map((row, place) => (row.kind === "fold"
      ? h("button", { key: `fold ${row.place}`, type: "button", class: "diff-fold", onclick: () => opened.add(row.place) }, `${row.lines} lines without change`)
      : [h("div", { key: `row ${row.left?.line ?? "-"} ${row.right?.line ?? "-"}`, class: ["diff-row", `diff-row-${row.kind}`], "data-sign": SIGNS[row.kind] },
        !isNew && h("div", { class: ["diff-side", "diff-left", !row.left && "diff-absent"] }, cell(row.left, row, "removed")), h("div", { class: ["diff-side", "diff-right", !row.right && "diff-absent"] }, cell(row.right, row, "added"))),
      row.right && (byLine.get(row.right.line) ?? []).map((finding) => h(Finding, { key: `finding ${place} ${finding.ruleId}`, finding }))])));
}

// Inside a changed line, the part that differs stands out.
function words(text, row, which) {
  if (row.kind !== "changed") return text || " ";
  const other = which === "removed" ? row.right.text : row.left.text;
  let start = 0;
  while (start < text.length && start < other.length && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < text.length - start && end < other.length - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  const changed = text.slice(start, text.length - end);
  return [text.slice(0, start), changed ? h("mark", null, changed) : null, text.slice(text.length - end)];
}

const TONES = { critical: "danger", danger: "danger", warn: "needs", warning: "needs" };

export function Finding({ finding }) {
  const tone = TONES[finding.severity] ?? "slate";
  return h("div", { class: `finding finding-${tone}`, role: "note" }, h(Chip, { tone }, finding.severity), h("p", null, h("code", null, finding.ruleId), " ", finding.message));
}
