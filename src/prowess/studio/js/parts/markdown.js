// Markdown as a person reads it, from text that nobody vouches for. It becomes a description of
// elements from a fixed set; HTML in it stays text, and links lead only to the web.
//
// Whatever the text is, this takes time in proportion to its length and makes a bounded number of
// elements; what goes beyond is shown as plain text, and nothing is left out: who decides on a skill
// has to see all of it.

import { h, remembered } from "../dom.js";
import { shownWhole } from "../words.js";
import { WebLink } from "./basics.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+([^]*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+([^]*)$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const MOST_ELEMENTS = 5_000;
const MOST_COLUMNS = 40;
const DEEPEST = 4;

const NONE = [];

// `level` is that of its first headings: those of the page stand above them. Code in which one of the
// `claims` of `skills.fresh` no longer holds is marked.
export const Markdown = ({ text, level = 2, claims = NONE }) => described(text ?? "", level, claims);

const described = remembered((text, level, claims) => {
  const room = { left: MOST_ELEMENTS, level, stale: claims.filter((claim) => claim.state === "stale") };
  return h("div", { class: `prose prose-${level}` }, blocks(shownWhole(text).split(/\r?\n/), 0, room));
});

// `room` is what all of one text share: how many elements it may still become.
function blocks(lines, depth, room) {
  const found = [];
  let place = 0;
  while (place < lines.length && room.left > 0) {
    const [made, next] = block(lines, place, depth, room);
    if (made) found.push(made);
    place = next;
  }
  const rest = lines.slice(place).join("\n");
  if (rest.trim()) found.push(Plain(rest));
  return found;
}

const Plain = (text) => h("pre", { tabindex: 0 }, text);

function block(lines, place, depth, room) {
  const line = lines[place];
  if (!line.trim()) return [null, place + 1];
  room.left -= 1;
  const fence = FENCE.exec(line);
  if (fence) return code(lines, place, fence[1], room);
  const heading = HEADING.exec(line);
  if (heading) return [h(`h${Math.min(4, heading[1].length + 1) + room.level - 2}`, null, inline(untailed(heading[2]), room)), place + 1];
  if (RULE.test(line)) return [h("hr"), place + 1];
  if (line.trimStart().startsWith(">")) return quote(lines, place, depth, room);
  if (ITEM.test(line)) return list(lines, place, depth, room);
  return isTable(lines, place) ? table(lines, place, room) : paragraph(lines, place, room);
}

// A heading may be closed by the signs it began with.
function untailed(text) {
  const trimmed = text.trim();
  let end = trimmed.length;
  while (trimmed[end - 1] === "#") end -= 1;
  return end === 0 || /\s/.test(trimmed[end - 1]) ? trimmed.slice(0, end).trimEnd() : trimmed;
}

function code(lines, place, mark, room) {
  let end = place + 1;
  while (end < lines.length && !lines[end].trimStart().startsWith(mark)) end += 1;
  const within = lines.slice(place + 1, end);
  const shown = within.some((line) => staleIn(line, room)) ? within.flatMap((line) => [marked(line, line, room), "\n"]) : within.join("\n");
  return [h("pre", { tabindex: 0 }, h("code", null, shown)), end + 1];
}

// A call is one of its program; of anything else its own name is enough.
const CALLED = ["subcommand", "flag"];
const staleIn = (text, room) => room.stale.find((claim) => text.includes(claim.text) && (!CALLED.includes(claim.kind) || text.includes((claim.of[0] ?? "").split(" ")[0])));

function marked(text, described, room) {
  const claim = staleIn(text, room);
  return claim ? h("mark", { class: "stale", title: `line ${claim.line}: ${claim.why}` }, described, h("span", { class: "visually-hidden" }, " (no longer holds)")) : described;
}

function quote(lines, place, depth, room) {
  let end = place;
  while (end < lines.length && lines[end].trimStart().startsWith(">")) end += 1;
  const inner = lines.slice(place, end).map((line) => line.trimStart().replace(/^> ?/, ""));
  return [h("blockquote", null, within(inner, depth, room)), end];
}

// What is nested too deeply to be laid out keeps its words.
const within = (lines, depth, room) => (depth < DEEPEST ? blocks(lines, depth + 1, room) : Plain(lines.join("\n")));

function list(lines, place, depth, room) {
  const [, indent, mark] = ITEM.exec(lines[place]);
  const isNumbered = /\d/.test(mark);
  const items = [];
  let at = place;
  while (at < lines.length && room.left > 0) {
    const item = ITEM.exec(lines[at]);
    if (item && item[1].length === indent.length && /\d/.test(item[2]) === isNumbered) {
      items.push([item[3]]);
      room.left -= 1;
    } else if (lines[at].trim() && /^\s/.test(lines[at]) && lines[at].search(/\S/) > indent.length) {
      items.at(-1).push(lines[at].slice(Math.min(indent.length + 2, lines[at].search(/\S/))));
    } else if (lines[at].trim() || !ITEM.test(lines[at + 1] ?? "")) break;
    at += 1;
  }
  // The first is looked at even where no room was left for it.
  if (!items.length) return [Plain(lines[place]), place + 1];
  const rows = items.map((inner) => h("li", null, inline(inner[0], room), inner.length > 1 ? within(inner.slice(1), depth, room) : null));
  return [h(isNumbered ? "ol" : "ul", null, rows), Math.max(at, place + 1)];
}

const cells = (line) => line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|").map((cell) => cell.trim());

function isTable(lines, place) {
  const next = lines[place + 1] ?? "";
  return lines[place].includes("|") && next.includes("-") && /^[\s|:-]+$/.test(next) && cells(lines[place]).length <= MOST_COLUMNS;
}

function table(lines, place, room) {
  const columns = cells(lines[place]).length;
  const row = (line, tag) => {
    const all = cells(line);
    // More cells than the head has are words all the same.
    const kept = all.length > columns ? [...all.slice(0, columns - 1), all.slice(columns - 1).join(" | ")] : all;
    room.left -= kept.length;
    return h("tr", null, kept.map((cell) => h(tag, null, inline(cell, room))));
  };
  const head = row(lines[place], "th");
  const rows = [];
  let end = place + 2;
  for (; end < lines.length && lines[end].includes("|") && room.left > 0; end += 1) rows.push(row(lines[end], "td"));
  return [h("table", { tabindex: 0 }, h("thead", null, head), h("tbody", null, rows)), end];
}

function paragraph(lines, place, room) {
  let end = place + 1;
  const ends = (line) => !line.trim() || FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || line.trimStart().startsWith(">");
  while (end < lines.length && !ends(lines[end])) end += 1;
  return [h("p", null, inline(lines.slice(place, end).join(" "), room)), end];
}

const LONGEST_LABEL = 300;
const TARGET = /\(([^()\s]{1,2000})\)/y;
const isWord = (sign) => sign !== undefined && /\w/.test(sign);

// Marks are found from left to right. Each search goes to the next sign of its kind and no further,
// so no text makes it look at the same characters again and again.
function inline(text, room) {
  const found = [];
  const signs = /`+|\*{1,2}|_|\[/g;
  const seen = { text, room, bracket: -1 };
  let from = 0;
  for (let sign = signs.exec(text); sign && room.left > 0; sign = signs.exec(text)) {
    const mark = markAt(seen, sign.index, sign[0]);
    if (!mark) continue;
    room.left -= 1;
    found.push(text.slice(from, sign.index), mark.described);
    from = mark.end;
    signs.lastIndex = from;
  }
  return [...found, text.slice(from)];
}

// What begins with this sign: {described, end}, or null where it is only a sign.
function markAt(seen, start, sign) {
  if (sign === "[") return linkAt(seen, start);
  const { text } = seen;
  const begin = start + sign.length;
  const end = text.indexOf(sign[0], begin);
  if (end <= begin || !text.startsWith(sign, end)) return null;
  if (sign[0] === "`" && text[end + sign.length] === "`") return null;
  if (sign === "_" && (isWord(text[start - 1]) || isWord(text[end + 1]))) return null;
  const within = text.slice(begin, end);
  const tag = sign[0] === "`" ? "code" : sign === "**" ? "strong" : "em";
  const described = h(tag, null, within);
  return { described: tag === "code" ? marked(within, described, seen.room) : described, end: end + sign.length };
}

function linkAt(seen, start) {
  const { text } = seen;
  // Where the next bracket closes is looked up once for all that open before it.
  if (seen.bracket <= start) {
    const next = text.indexOf("]", start);
    seen.bracket = next < 0 ? Infinity : next;
  }
  const length = seen.bracket - start - 1;
  if (length < 1 || length > LONGEST_LABEL) return null;
  TARGET.lastIndex = seen.bracket + 1;
  const target = TARGET.exec(text);
  return target && { described: h(WebLink, { href: target[1] }, text.slice(start + 1, seen.bracket)), end: TARGET.lastIndex };
}
