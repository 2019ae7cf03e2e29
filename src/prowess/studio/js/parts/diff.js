// What changes between two texts: lines side by side on a wide page, one below the other on a
// narrow one, each change marked by a sign too. Findings are pinned to the line they speak of.

import { h, remembered } from "../dom.js";
import { count, shownWhole } from "../words.js";
import { Chip } from "./basics.js";

const CONTEXT = 3;
const MOST_CELLS = 4_000_000;
// So many rows are drawn at once; the rest waits for a person to ask.
const ROWS_AT_ONCE = 1_000;

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
    ...middle(left.slice(start, left.length - end), right.slice(start, right.length - end), start, start),
    ...Array.from({ length: end }, (_, place) => ["same", left.length - end + place, right.length - end + place]),
  ];
  return paired(steps.map(([kind, a, b]) => ({
    kind, left: kind === "added" ? undefined : { line: a + 1, text: left[a] }, right: kind === "removed" ? undefined : { line: b + 1, text: right[b] },
  })));
}

// The longest common part by table. Texts that would make it huge are parted first, at lines that
// stand once in each; where there are none, they are shown as replaced.
function middle(left, right, fromLeft, fromRight) {
  if (left.length * right.length <= MOST_CELLS) return byTable(left, right, fromLeft, fromRight);
  const steps = [];
  let [a, b] = [0, 0];
  for (const [nextA, nextB] of [...anchors(left, right), [left.length, right.length]]) {
    const parts = [left.slice(a, nextA), right.slice(b, nextB)];
    const isSmall = parts[0].length * parts[1].length <= MOST_CELLS;
    for (const step of (isSmall ? byTable : replaced)(...parts, fromLeft + a, fromRight + b)) steps.push(step);
    if (nextA < left.length) steps.push(["same", fromLeft + nextA, fromRight + nextB]);
    [a, b] = [nextA + 1, nextB + 1];
  }
  return steps;
}

const replaced = (left, right, fromLeft, fromRight) => [...left.map((_, a) => ["removed", fromLeft + a]), ...right.map((_, b) => ["added", undefined, fromRight + b])];

// Pairs of places, growing on both sides, of lines that stand once in each text.
function anchors(left, right) {
  const once = (lines) => {
    const places = new Map();
    lines.forEach((line, place) => places.set(line, places.has(line) ? -1 : place));
    return places;
  };
  const others = once(right);
  const pairs = [...once(left)].map(([line, a]) => [a, others.get(line) ?? -1]).filter(([a, b]) => a >= 0 && b >= 0);
  return longestGrowing(pairs);
}

// Of pairs in the order of their first parts, the most that also grow in their second.
function longestGrowing(pairs) {
  const ends = [];
  const before = [];
  pairs.forEach(([, b], place) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const half = (low + high) >> 1;
      if (pairs[ends[half]][1] < b) low = half + 1;
      else high = half;
    }
    before[place] = low > 0 ? ends[low - 1] : -1;
    ends[low] = place;
  });
  const found = [];
  for (let place = ends.at(-1) ?? -1; place >= 0; place = before[place]) found.push(pairs[place]);
  return found.reverse();
}

function byTable(left, right, fromLeft, fromRight) {
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
    if (a < left.length && b < right.length && left[a] === right[b]) steps.push(["same", fromLeft + a++, fromRight + b++]);
    else if (b >= right.length || (a < left.length && longest[(a + 1) * width + b] >= longest[a * width + b + 1])) steps.push(["removed", fromLeft + a++]);
    else steps.push(["added", undefined, fromRight + b++]);
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
      found.push(one && other ? { kind: one.left.text === other.right.text ? "same" : "changed", left: one.left, right: other.right } : one ?? other);
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

// Long texts are compared and described once, and again only when something of them is another.
const drawn = new Map();

// `findings` are those of all files; `opened` is what a person unfolded of this one.
export function Diff({ before, after, path, findings, opened, label }) {
  if (!drawn.has(path)) drawn.set(path, remembered(describe));
  return drawn.get(path)(before ?? "", after ?? "", path, findings, label, opened, opened.size);
}

function describe(before, after, path, findings, label, opened) {
  const byLine = new Map();
  for (const finding of findings) {
    if (finding.file !== path) continue;
    if (!byLine.has(finding.line)) byLine.set(finding.line, []);
    byLine.get(finding.line).push(finding);
  }
  const all = folded(compare(before, after), byLine, opened);
  const more = [...opened].filter((one) => typeof one === "string").length;
  const rows = all.slice(0, ROWS_AT_ONCE * (1 + more));
  const rest = all.length - rows.length;
  const isNew = !before;
  const cell = (side, row, which) => [
    h("span", { class: "diff-number", "aria-hidden": "true" }, side?.line ?? ""),
    h("span", { class: ["diff-text", side && row.kind !== "same" && `diff-${which}`, !side && "diff-none"] },
      side && row.kind !== "same" && h("span", { class: "diff-sign" }, h("span", { class: "visually-hidden" }, which === "removed" ? "removed: " : "added: "), h("span", { "aria-hidden": "true" }, which === "removed" ? "−" : "+")),
      side ? words(side.text, row, which) : "")];
  return h("div", { class: ["diff", isNew && "diff-new"], role: "group", "aria-label": label, tabindex: 0 },
    rows.map((row, place) => (row.kind === "fold"
      ? h("button", { key: `fold ${row.place}`, type: "button", class: "diff-fold", onclick: (event) => unfold(event, opened, row.place) }, `${row.lines} lines without change`)
      : [h("div", { key: `row ${row.left?.line ?? "-"} ${row.right?.line ?? "-"}`, class: ["diff-row", `diff-row-${row.kind}`], "data-sign": SIGNS[row.kind] },
        !isNew && h("div", { class: ["diff-side", "diff-left", !row.left && "diff-absent"] }, cell(row.left, row, "removed")), h("div", { class: ["diff-side", "diff-right", !row.right && "diff-absent"] }, cell(row.right, row, "added"))),
      row.right && (byLine.get(row.right.line) ?? []).map((finding) => h(Finding, { key: `finding ${place} ${finding.ruleId}`, finding }))])),
    rest > 0 && h("button", { key: "more", type: "button", class: "diff-fold", onclick: (event) => unfold(event, opened, `more ${more}`) }, `Show ${Math.min(rest, ROWS_AT_ONCE).toLocaleString("en")} more of ${count(rest, "row")}`));
}

// The button goes with what it unfolds: the focus stays at the lines.
function unfold(event, opened, what) {
  opened.add(what);
  event.currentTarget.closest(".diff").focus({ preventScroll: true });
}

// Inside a changed line, the part that differs stands out.
function words(text, row, which) {
  if (row.kind !== "changed") return shownWhole(text) || " ";
  const other = which === "removed" ? row.right.text : row.left.text;
  let start = 0;
  while (start < text.length && start < other.length && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < text.length - start && end < other.length - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  const changed = text.slice(start, text.length - end);
  return [shownWhole(text.slice(0, start)), changed ? h("mark", null, shownWhole(changed)) : null, shownWhole(text.slice(text.length - end))];
}

const MARKS = { "+": "line-added", "-": "line-removed", "@": "line-place" };

// A difference that comes as lines, each with its sign; what could not be seen is shown.
export const PlainDiff = ({ lines, label }) =>
  h("pre", { class: "plan-diff", tabindex: 0, role: "region", "aria-label": label }, lines.map((line, at) => h("span", { key: at, class: MARKS[line[0]] ?? "" }, `${shownWhole(line)}\n`)));

const TONES = { critical: "danger", danger: "danger", warn: "needs", warning: "needs" };

export function Finding({ finding }) {
  const tone = TONES[finding.severity] ?? "slate";
  return h("div", { class: `finding finding-${tone}`, role: "note" }, h(Chip, { tone }, finding.severity), h("p", null, h("code", null, finding.ruleId), " ", finding.message));
}
