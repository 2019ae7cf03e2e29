// Where the person is: the view in the path, everything else in the query. The address is the
// truth: a reload, a bookmark and the back button all lead to the same page.

import { redraw } from "./dom.js";

export const VIEWS = ["skills", "router", "setup", "library", "workshop", "activity"];

export const place = { view: "skills", query: {} };
const arrivals = [];

export function readPlace() {
  const [first] = location.pathname.split("/").filter(Boolean);
  place.view = VIEWS.includes(first) ? first : "skills";
  place.query = Object.fromEntries(new URLSearchParams(location.search));
}

// Called with the new place after each move, typed address or step back.
export const onArrival = (called) => arrivals.push(called);

// `change` holds what differs; null takes a key out. Moves to another view keep only the agent.
export function go(change, { view = place.view, replace = false } = {}) {
  const agent = place.query.settingsAgentId;
  const base = view === place.view ? place.query : agent ? { settingsAgentId: agent } : {};
  const address = link({ ...base, ...change }, view);
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  arrive();
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

function arrive() {
  readPlace();
  for (const called of arrivals) called(place);
  redraw();
}

export function followPlaces() {
  readPlace();
  addEventListener("popstate", arrive);
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest?.("a[href^='/']");
    if (!anchor || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.defaultPrevented) return;
    event.preventDefault();
    if (anchor.pathname + anchor.search !== location.pathname + location.search) {
      history.pushState(null, "", anchor.pathname + anchor.search);
      arrive();
    }
  });
}
