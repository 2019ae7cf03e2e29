// The skills of an agent on a plane, near where they mean alike, as the gateway's index has them. Lines
// join those that are hard to tell apart. A picture of thousands is painted, not built of elements;
// what it says stands below and beside it in words, too.

import { agentId, agentName, follow, gateway, skillOf, want, wantDetails } from "../app.js";
import { h } from "../dom.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { theme } from "../theme.js";
import { count } from "../words.js";
import { Button, Empty, Loaded } from "./basics.js";

const chart = new Resource(({ agent }) => gateway.request("skills.map", { agentId: agent }, { timeout: 300_000 }));
const NEAREST_PX = 14;
const MOST_PAIRS = 30;
const MOST_NAMES = 60;
const NAME_PX = 15;
const view = { zoom: 1, x: 0, y: 0 };
// The point that is pointed at, or, by the keyboard, the one nearest to the middle.
let pointed = null;
let dragged = null;
let canvas = null;
let painted = "";
// Whom a search or a filter leaves; null where all are meant.
let among = null;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function placeOf([, x, y]) {
  const half = Math.min(canvas.clientWidth, canvas.clientHeight) / 2 - 24;
  return [canvas.clientWidth / 2 + view.x + x * half * view.zoom * (canvas.clientWidth / canvas.clientHeight > 1 ? 1.3 : 1), canvas.clientHeight / 2 + view.y - y * half * view.zoom];
}

// Painted again only when something of it is another.
function paint() {
  if (!canvas || chart.state !== "ready") return;
  const key = JSON.stringify([view, pointed?.[0], canvas.clientWidth, canvas.clientHeight, theme(), chart.value.points.length, among && [...among]]);
  if (key === painted) return;
  painted = key;
  const scale = devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale;
  canvas.height = canvas.clientHeight * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const places = new Map(chart.value.points.map((point) => [point[0], placeOf(point)]));
  pen.strokeStyle = colour("--danger");
  pen.globalAlpha = 0.6;
  for (const [one, other] of chart.value.near) {
    pen.beginPath();
    pen.moveTo(...places.get(one));
    pen.lineTo(...places.get(other));
    pen.stroke();
  }
  pen.fillStyle = colour("--accent");
  for (const [name, [x, y]] of places) {
    pen.globalAlpha = among && !among.has(name) ? 0.15 : 0.8;
    pen.beginPath();
    pen.arc(x, y, 3.5, 0, 2 * Math.PI);
    pen.fill();
  }
  pen.globalAlpha = 1;
  write(pen, places);
}

// Names as far as there is room: none lies upon another, and the one that is pointed at comes first.
function write(pen, places) {
  pen.font = `12px ${colour("--sans") || "sans-serif"}`;
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.strokeStyle = colour("--surface");
  const taken = [];
  const isFree = (left, top, wide) => taken.every(([x, y, width]) => left + wide < x || x + width < left || Math.abs(top - y) >= NAME_PX);
  const put = (name, [x, y]) => {
    const wide = pen.measureText(name).width + 4;
    const left = x + 7 + wide > canvas.clientWidth ? x - 7 - wide : x + 7;
    if (!isFree(left, y, wide)) return;
    taken.push([left, y, wide]);
    pen.fillStyle = colour(name === pointed?.[0] ? "--accent-strong" : "--text");
    pen.strokeText(name, left, y + 4);
    pen.fillText(name, left, y + 4);
  };
  if (pointed && places.has(pointed[0])) put(pointed[0], places.get(pointed[0]));
  for (const [name, at] of places) {
    if (taken.length >= MOST_NAMES) break;
    if (at[0] > 0 && at[1] > 0 && at[0] < canvas.clientWidth && at[1] < canvas.clientHeight && (!among || among.has(name))) put(name, at);
  }
}

function nearestTo(left, top, within) {
  let best = null;
  let least = within;
  for (const point of chart.value?.points ?? []) {
    const [x, y] = placeOf(point);
    const far = Math.hypot(x - left, y - top);
    if (far < least) [best, least] = [point, far];
  }
  return best;
}

function under(event) {
  const box = canvas.getBoundingClientRect();
  return nearestTo(event.clientX - box.left, event.clientY - box.top, NEAREST_PX);
}

function moved(event) {
  if (dragged) {
    view.x += event.clientX - dragged.x;
    view.y += event.clientY - dragged.y;
    dragged = { x: event.clientX, y: event.clientY, far: dragged.far + 1 };
  } else pointed = under(event);
  paint();
}

// What lies under (`x`, `y`), counted from the middle, stays there.
function zoom(by, x = 0, y = 0) {
  const next = Math.min(40, Math.max(0.5, view.zoom * by));
  const grown = next / view.zoom;
  Object.assign(view, { x: x - (x - view.x) * grown, y: y - (y - view.y) * grown, zoom: next });
  paint();
}

function turned(event) {
  event.preventDefault();
  const box = canvas.getBoundingClientRect();
  zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2);
}

// The map stays in the address: a step back leads to it.
const open = ([name]) => go({ skill: name });

function pressed(event) {
  const by = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
  if (by) Object.assign(view, { x: view.x + by[0], y: view.y + by[1] });
  else if (event.key === "+" || event.key === "=") zoom(1.4);
  else if (event.key === "-") zoom(1 / 1.4);
  else if (event.key === "Enter" && pointed) open(pointed);
  else return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key !== "Enter") pointed = nearestTo(canvas.clientWidth / 2, canvas.clientHeight / 2, Infinity);
  paint();
}

function released(event) {
  const wasDragged = dragged && dragged.far > 2;
  dragged = null;
  const found = wasDragged ? null : under(event);
  if (found) open(found);
}

function appear(node) {
  canvas = node;
  painted = "";
  node.addEventListener("wheel", turned, { passive: false });
  new ResizeObserver(paint).observe(node);
  paint();
}

function gone() {
  canvas = null;
  pointed = null;
  dragged = null;
}

// What the picture says at the pointer, for those as well who do not see it.
function Said() {
  const skill = pointed && skillOf(pointed[0]);
  if (skill) wantDetails([skill]);
  return h("p", { class: "map-said", role: "status" }, pointed ? [h("strong", null, pointed[0]), " ", skill?.description ?? ""] : h("span", { class: "muted" }, "Point at a skill to read what it says; press it to open it."));
}

function Picture({ value }) {
  return h("div", { class: "map-picture" },
    h("canvas", { class: ["map-canvas", pointed && "map-pointed"], tabindex: 0, role: "img", "aria-label": `${count(value.points.length, "skill")} by meaning; arrows move, plus and minus zoom, Enter opens the one in the middle. The pairs beside it say which are hard to tell apart.`, oncreate: appear, onupdate: paint, onremove: gone,
      onpointermove: moved, onpointerdown: (event) => { dragged = { x: event.clientX, y: event.clientY, far: 0 }; }, onpointerup: released, onpointerleave: () => { pointed = null; dragged = null; paint(); }, onkeydown: pressed }),
    h("div", { class: "map-tools line" }, h(Button, { "aria-label": "Closer", onclick: () => zoom(1.4) }, "+"), h(Button, { "aria-label": "Farther", onclick: () => zoom(1 / 1.4) }, "−"), h(Button, { onclick: () => { Object.assign(view, { zoom: 1, x: 0, y: 0 }); paint(); } }, "All")),
    h(Said));
}

const skillLink = (name) => h("a", { href: viewLink("skills", { ...place.query, skill: name }) }, name);

function Pairs({ near, total }) {
  return h("aside", { class: "map-pairs", "aria-labelledby": "pairs-title" }, h("h2", { id: "pairs-title" }, "Hard to tell apart"),
    near.length ? h("ol", { class: "pairs" }, near.slice(0, MOST_PAIRS).map(([one, other, score]) => h("li", { key: `${one} ${other}` }, h("span", { class: "break" }, skillLink(one), " and ", skillLink(other)), h("span", { class: "score-number" }, `${Math.round(100 * score)} %`)))) : h("p", { class: "muted" }, "No two skills say nearly the same."),
    total > MOST_PAIRS && h("p", { class: "meta" }, `and ${(total - MOST_PAIRS).toLocaleString("en")} more pairs`),
    h("p", { class: "meta" }, "A message for one of a pair may load the other: say in their descriptions when each is meant, and when not."));
}

function Nothing({ value }) {
  if (value.pending) return h(Empty, { title: "What the skills mean is being read." }, `The map of ${agentName()}'s skills comes by itself once all are.`);
  return h(Empty, { title: `There is no map of ${agentName()}'s skills.` }, value.problem || "No skill of this agent is ready.");
}

export function SkillMap({ among: meant }) {
  if (agentId()) want(chart, { agent: agentId() });
  among = meant;
  return h("div", { class: "map", key: "map" }, h(Loaded, { of: chart, doing: "The map could not be drawn.", rows: 6, describe: (value) => (value.points.length
    ? [h(Picture, { value }), h(Pairs, { near: value.near, total: value.nearTotal ?? value.near.length })]
    : h(Nothing, { value })) }));
}

// What is shown follows the skills; while their meaning is being read, its end is the news.
follow("skills.changed", ({ agentId: agent }) => agent === chart.asked?.agent && canvas && chart.reload());
follow("skills.indexing", ({ agentId: agent, total }) => agent === chart.asked?.agent && !total && (canvas || chart.state !== "ready" || chart.value.pending) && chart.reload());
