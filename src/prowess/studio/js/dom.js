// Draws the page from descriptions: `h` describes an element, `render` changes the document to
// match. Text always becomes a text node; nothing here parses HTML, so no text of a skill can
// become markup; nor can an object in an answer, since only what `h` made is taken for an element.
//
// State lives in plain objects. Whoever changes one calls `redraw`, and event handlers given to `h`
// do so by themselves; drawing happens once per frame.

const SVG = "http://www.w3.org/2000/svg";
const BOOLEANS = new Set(["checked", "disabled", "hidden", "open", "readOnly", "inert"]);
const PROPERTIES = new Set(["value", ...BOOLEANS]);
const PLAIN = new Set(["key", "children", "oncreate", "onupdate", "onremove"]);
// Who made a description: no JSON can hold this.
const OURS = Symbol("described");

export function h(tag, props, ...children) {
  const given = props ?? {};
  if (typeof tag === "function") return tag({ ...given, children: flat(children) });
  return { [OURS]: true, tag, props: given, key: given.key, children: flat(children) };
}

function flat(children, found = []) {
  for (const child of children) {
    if (Array.isArray(child)) flat(child, found);
    // An empty text keeps the place of what is not shown, so that its neighbours keep theirs.
    else if (child === null || child === undefined || child === false || child === true) found.push(text(""));
    else if (child[OURS]) found.push(child);
    else found.push(text(String(child)));
  }
  return found;
}

const NONE = Object.freeze({});
const NOBODY = Object.freeze([]);
const text = (value) => ({ [OURS]: true, tag: "#text", value, props: NONE, children: NOBODY });

// Describes once, and again only when one of `inputs` is another one: what is described by the very
// same object is not looked at again. For long texts and lists; what is described in it must depend
// on nothing but the inputs.
export function remembered(describe) {
  let last = null;
  return (...inputs) => {
    const isSame = last !== null && last.inputs.length === inputs.length && inputs.every((one, place) => one === last.inputs[place]);
    if (!isSame) last = { inputs, described: describe(...inputs) };
    return last.described;
  };
}

export function render(described, container) {
  patchChildren(container, flat([described]), false);
}

function create(described, isSvg) {
  if (described.tag === "#text") return remember(document.createTextNode(described.value), described);
  const inside = isSvg || described.tag === "svg";
  const node = inside ? document.createElementNS(SVG, described.tag) : document.createElement(described.tag);
  setProps(node, {}, described.props, inside);
  patchChildren(node, described.children, inside);
  // A select knows its value only once it has its options.
  if (described.tag === "select" && "value" in described.props) node.value = described.props.value;
  remember(node, described);
  if (described.props.oncreate) created.push(() => described.props.oncreate(node));
  return node;
}

const kept = new WeakMap();
const remember = (node, described) => (kept.set(node, described), node);
let created = [];

function patch(node, described, isSvg) {
  const before = kept.get(node);
  if (before === described) return;
  if (described.tag === "#text") {
    if (node.data !== described.value) node.data = described.value;
  } else {
    const inside = isSvg || described.tag === "svg";
    setProps(node, before.props, described.props, inside);
    patchChildren(node, described.children, inside);
    if (described.tag === "select" && "value" in described.props) node.value = described.props.value;
    if (described.props.onupdate) created.push(() => described.props.onupdate(node));
  }
  remember(node, described);
}

function patchChildren(parent, children, isSvg) {
  const named = new Map();
  const plain = [];
  for (const node of [...parent.childNodes]) {
    const described = kept.get(node);
    if (!described) continue;
    if (described.key === undefined) plain.push(node);
    else if (named.has(described.key)) named.get(described.key).push(node);
    else named.set(described.key, [node]);
  }
  let next = 0;
  const nodes = children.map((child) => {
    // Two of one key are two: each takes its own.
    const candidate = child.key === undefined ? plain[next++] : named.get(child.key)?.shift();
    if (!candidate || kept.get(candidate).tag !== child.tag) return create(child, isSvg);
    patch(candidate, child, isSvg);
    return candidate;
  });
  const stays = new Set(nodes);
  for (const node of [...parent.childNodes]) if (kept.has(node) && !stays.has(node)) discard(node);
  nodes.forEach((node, place) => {
    // Moving a node takes the focus from it: only what stands elsewhere is moved.
    if (parent.childNodes[place] !== node) parent.insertBefore(node, parent.childNodes[place] ?? null);
  });
}

function discard(node) {
  leave(node);
  node.remove();
}

function leave(node) {
  kept.get(node)?.props.onremove?.(node);
  for (const child of node.childNodes) leave(child);
}

function setProps(node, before, props, isSvg) {
  for (const name of Object.keys(before)) if (!(name in props)) setProp(node, name, before[name], undefined, isSvg);
  for (const [name, value] of Object.entries(props)) {
    // What a person typed or chose may differ from what was described last: look at the element.
    const old = PROPERTIES.has(name) && !isSvg ? node[name] : before[name];
    if (old !== value) setProp(node, name, before[name], value, isSvg);
  }
}

function setProp(node, name, before, value, isSvg) {
  if (PLAIN.has(name)) return;
  if (name.startsWith("on")) setListener(node, name.slice(2), value);
  else if (name === "style") setStyle(node, before ?? {}, value ?? {});
  else if (name === "class") setAttribute(node, "class", classes(value));
  else if (!isSvg && PROPERTIES.has(name)) node[name] = BOOLEANS.has(name) ? Boolean(value) : value ?? "";
  else setAttribute(node, name, value);
}

function setAttribute(node, name, value) {
  if (value === undefined || value === null || value === false || value === "") {
    if (name === "alt" && value === "") node.setAttribute(name, "");
    else node.removeAttribute(name);
  } else node.setAttribute(name, value === true ? "" : String(value));
}

// Through the object model: the page's policy allows no style attributes.
function setStyle(node, before, style) {
  for (const name of Object.keys(before)) if (!(name in style)) node.style.removeProperty(name);
  for (const [name, value] of Object.entries(style)) node.style.setProperty(name, value);
}

const classes = (value) => (Array.isArray(value) ? value.filter(Boolean).join(" ") : value);

const listeners = new WeakMap();

function setListener(node, event, called) {
  const own = listeners.get(node) ?? {};
  if (!own[event]) {
    node.addEventListener(event, (happened) => {
      const now = own[event].called;
      if (!now) return;
      now(happened);
      redraw();
    }, { passive: event === "scroll" });
    own[event] = {};
    listeners.set(node, own);
  }
  own[event].called = called;
}

// Whatever had the focus may be gone or no longer usable after a step. An element around it that has
// `data-home` says where the keyboard goes on: selectors inside of it, the first that fits counts.
function homesOf(node) {
  const found = [];
  for (let at = node; at && at !== document.body; at = at.parentElement) if (at === node || at.dataset?.home !== undefined) found.push(at);
  return found;
}

function comeHome([node, ...homes]) {
  if (!node || (node.isConnected && !node.matches(":disabled"))) return;
  // A dialog that closed has given the focus back already.
  if (document.activeElement && document.activeElement !== document.body && document.activeElement !== node) return;
  const places = homes.filter((home) => home.isConnected).flatMap((home) => home.dataset.home.split(",").map((selector) => home.querySelector(selector)));
  places.find(Boolean)?.focus({ preventScroll: true });
}

let draw = null;
let waiting = false;

// What is pressed stays where it is until it is let go: a press that begins on one element and ends
// on another is no click. What changes meanwhile is drawn right after.
const PRESSED = "a, button, label, summary, [role=listitem]";
let isPressed = false;

addEventListener("pointerdown", ({ target }) => { isPressed = Boolean(target.closest?.(PRESSED)); }, true);
// The click comes after the pointer is let go, and before anything else.
addEventListener("pointerup", () => setTimeout(letGo), true);
addEventListener("pointercancel", () => letGo(), true);
addEventListener("blur", () => letGo());

function letGo() {
  isPressed = false;
  if (waiting) drawSoon();
}

// The page is drawn by one function, from one container down.
export function drawWith(container, describe) {
  draw = () => {
    const homes = homesOf(document.activeElement);
    render(describe(), container);
    comeHome(homes);
    const now = created;
    created = [];
    for (const call of now) call();
  };
  draw();
}

// For what takes the keyboard: the next key may come before the next frame.
export const redrawNow = () => draw?.();

// What a key chose may not be drawn yet when the next key wants to go there.
export function focusDrawn(selector) {
  redrawNow();
  document.querySelector(selector)?.focus();
}

// What was changed is drawn by the next frame, and a list that was moved draws its rows in the one after.
export const onceDrawn = (call) => requestAnimationFrame(() => requestAnimationFrame(call));

export function redraw() {
  if (waiting || !draw) return;
  waiting = true;
  drawSoon();
}

function drawSoon() {
  // Frames stop in a tab that nobody sees, and what is drawn there should still be true.
  const soon = document.hidden ? (call) => setTimeout(call, 50) : requestAnimationFrame;
  soon(() => {
    if (isPressed || !waiting) return;
    waiting = false;
    draw();
  });
}
