// Markdown as a person reads it, from text that nobody vouches for. It becomes a description of
// elements from a fixed set; HTML in it stays text, and links lead only to the web.

import { h } from "../dom.js";
import { WebLink } from "./basics.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const LONGEST_LINE = 20_000;

// `level` is that of its first headings: those of the page stand above them.
export function Markdown({ text, level = 2 }) {
  const lines = (text ?? "").split(/\r?\n/).map((line) => line.slice(0, LONGEST_LINE));
  return h("div", { class: `prose prose-${level}` }, blocks(lines, 0).map((one) => lowered(one, level - 2)));
}

function lowered(described, steps) {
  const heading = /^h([2-4])$/.exec(described.tag);
  return heading ? { ...described, tag: `h${Number(heading[1]) + steps}` } : described;
}

function blocks(lines, depth) {
  const found = [];
  let place = 0;
  while (place < lines.length) {
    const [described, next] = block(lines, place, depth);
    if (described) found.push(described);
    place = next;
  }
  return found;
}

function block(lines, place, depth) {
  const line = lines[place];
  if (!line.trim()) return [null, place + 1];
  const fence = FENCE.exec(line);
  if (fence) return code(lines, place, fence[1]);
  const heading = HEADING.exec(line);
  if (heading) return [h(`h${Math.min(4, heading[1].length + 1)}`, null, inline(heading[2])), place + 1];
  if (RULE.test(line)) return [h("hr"), place + 1];
  if (line.trimStart().startsWith(">")) return quote(lines, place, depth);
  if (ITEM.test(line)) return list(lines, place, depth);
  if (line.includes("|") && /^[\s|:-]+$/.test(lines[place + 1] ?? "") && (lines[place + 1] ?? "").includes("-")) return table(lines, place);
  return paragraph(lines, place);
}

function code(lines, place, mark) {
  let end = place + 1;
  while (end < lines.length && !lines[end].trimStart().startsWith(mark)) end += 1;
  return [h("pre", { tabindex: 0 }, h("code", null, lines.slice(place + 1, end).join("\n"))), end + 1];
}

function quote(lines, place, depth) {
  let end = place;
  while (end < lines.length && lines[end].trimStart().startsWith(">")) end += 1;
  const inner = lines.slice(place, end).map((line) => line.trimStart().replace(/^> ?/, ""));
  return [h("blockquote", null, depth < 4 ? blocks(inner, depth + 1) : inner.join(" ")), end];
}

function list(lines, place, depth) {
  const [, indent, mark] = ITEM.exec(lines[place]);
  const isNumbered = /\d/.test(mark);
  const items = [];
  let at = place;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (item && item[1].length === indent.length && /\d/.test(item[2]) === isNumbered) {
      items.push([item[3]]);
    } else if (lines[at].trim() && /^\s/.test(lines[at]) && lines[at].search(/\S/) > indent.length) {
      items.at(-1).push(lines[at].slice(Math.min(indent.length + 2, lines[at].search(/\S/))));
    } else if (lines[at].trim() || !ITEM.test(lines[at + 1] ?? "")) break;
    at += 1;
  }
  const rows = items.map((inner) => h("li", null, inline(inner[0]), inner.length > 1 && depth < 4 ? blocks(inner.slice(1), depth + 1) : null));
  return [h(isNumbered ? "ol" : "ul", null, rows), Math.max(at, place + 1)];
}

const cells = (line) => line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|").map((cell) => cell.trim());

function table(lines, place) {
  let end = place + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const row = (line, tag) => h("tr", null, cells(line).map((cell) => h(tag, null, inline(cell))));
  return [h("table", { tabindex: 0 }, h("thead", null, row(lines[place], "th")), h("tbody", null, lines.slice(place + 2, end).map((line) => row(line, "td")))), end];
}

function paragraph(lines, place) {
  let end = place + 1;
  const ends = (line) => !line.trim() || FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || line.trimStart().startsWith(">");
  while (end < lines.length && !ends(lines[end])) end += 1;
  return [h("p", null, inline(lines.slice(place, end).join(" "))), end];
}

const MARKS = /(`+)([^`]+)\1|\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|(?<!\w)_([^_\n]+)_(?!\w)|\[([^\]\n]{1,300})\]\(([^()\s]{1,2000})\)/g;

function inline(text) {
  const found = [];
  let from = 0;
  for (const match of text.matchAll(MARKS)) {
    found.push(text.slice(from, match.index), marked(match));
    from = match.index + match[0].length;
  }
  return [...found, text.slice(from)];
}

function marked([, , code, strong, star, under, label, href]) {
  if (code !== undefined) return h("code", null, code);
  if (strong !== undefined) return h("strong", null, strong);
  if (label !== undefined) return h(WebLink, { href }, label);
  return h("em", null, star ?? under);
}
