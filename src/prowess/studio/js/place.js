// Where the person is: the view in the path, everything else in the query. The address is the
// truth: a reload, a bookmark and the back button all lead to the same page.

import { redraw } from "./dom.js";

export const VIEWS = ["home", "skills", "router", "setup", "library", "hub", "connect", "workshop", "activity"];

export const place = { view: "home", query: {} };
const arrivals = [];

function readPlace(address) {
  const [first] = address.pathname.split("/").filter(Boolean);
  place.view = VIEWS.includes(first) ? first : "home";
  place.query = Object.fromEntries(new URLSearchParams(address.search));
}

const SETTLE_MS = 1_000;
let current = "";
let settling = 0;

// Browsers stop pages that change their address many times a second, some with an error and some
// without a word. The place is true at once; the address bar may come a moment later.
function write(address, replace) {
  current = address;
  clearTimeout(settling);
  const attempt = (how) => {
    try {
      history[how](null, "", address);
    } catch {
      // Too many at once: the next attempt is in a moment.
    }
    return location.pathname + location.search === address;
  };
  if (!attempt(replace ? "replaceState" : "pushState")) settling = setTimeout(() => write(address, true), SETTLE_MS);
}

// Called with the new place after each move, typed address or step back.
export const onArrival = (called) => arrivals.push(called);

// `change` holds what differs; null takes a key out. Moves to another view keep only the agent. A
// quiet move is a correction of the address: nobody is told.
export function go(change, { view = place.view, replace = false, quiet = false } = {}) {
  const agent = place.query.settingsAgentId;
  const base = view === place.view ? place.query : agent ? { settingsAgentId: agent } : {};
  const address = link({ ...base, ...change }, view);
  if (address === current) return;
  write(address, replace);
  const there = new URL(address, location.origin);
  if (quiet) readPlace(there);
  else arrive(there);
}

// What is null or empty is left out.
export function link(query, view = place.view) {
  const said = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const words = new URLSearchParams(said).toString();
  return `/${view}${words ? `?${words}` : ""}`;
}

// A link that keeps the agent, for anchors: they work with the middle button, too.
export function viewLink(view, query = {}) {
  const agent = place.query.settingsAgentId;
  return link({ ...(agent ? { settingsAgentId: agent } : {}), ...query }, view);
}

function arrive(address) {
  readPlace(address);
  for (const called of arrivals) called(place);
  redraw();
}

export function followPlaces() {
  readPlace(location);
  current = location.pathname + location.search;
  addEventListener("popstate", () => {
    clearTimeout(settling);
    current = location.pathname + location.search;
    arrive(location);
  });
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest?.("a[href^='/']");
    if (!anchor || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.defaultPrevented) return;
    event.preventDefault();
    if (anchor.pathname + anchor.search === current) return;
    write(anchor.pathname + anchor.search, false);
    arrive(anchor);
  });
}
