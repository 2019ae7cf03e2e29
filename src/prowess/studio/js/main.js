// The frame of the studio: rail, bar, the view that the address names, and what floats above them.

import { agentId, agentList, agentName, agents, configProblem, databaseIsLost, defaultAgentId, follow, gateway, numbers, pendingProposals, selectAgent } from "./app.js";
import { drawWith, h, onceDrawn, redraw } from "./dom.js";
import { followKeys, Help, openHelp } from "./keys.js";
import { Button, Failed } from "./parts/basics.js";
import { Icon } from "./parts/icon.js";
import { offerViews, openPalette, Palette } from "./parts/palette.js";
import { followPlaces, go, onArrival, place, viewLink } from "./place.js";
import { followTheme, switchTheme, theme } from "./theme.js";
import { Toasts } from "./toasts.js";
import { activity } from "./views/activity.js";
import { connect } from "./views/connect.js";
import { home } from "./views/home.js";
import { hub } from "./views/hub.js";
import { library } from "./views/library.js";
import { router } from "./views/router.js";
import { setup } from "./views/setup.js";
import { skillsView } from "./views/skills.js";
import { workshop } from "./views/workshop.js";

// Each view: {title, search (placeholder or ""), describe(), keys(), arrive()?}.
const VIEWS = { home, skills: skillsView, router, setup, library, hub, connect, workshop, activity };
const RAIL = [
  { label: "This agent", views: ["home", "skills", "router"] },
  { label: "Gateway", about: "all agents", views: ["setup", "library", "hub", "connect"] },
  { label: "Learning", views: ["workshop", "activity"] },
];

const view = () => VIEWS[place.view];
const counts = { skills: () => numbers().problems, setup: () => numbers().setup, workshop: () => pendingProposals().length };
const ABOUT = { skills: () => `skills of ${agentName()} are blocked or cannot be read`, setup: () => `of ${agentName()}'s skills need setup`, workshop: () => "wait for you" };

function Rail() {
  return h("aside", { class: "rail" },
    h("a", { class: "brand", href: viewLink("home") },
      h("svg", { viewBox: "0 0 32 32", "aria-hidden": "true" }, h("path", { d: "M16 2 30 16 16 30 2 16z" }), h("path", { class: "brand-hole", d: "M16 9 23 16 16 23 9 16z" }), h("circle", { cx: 16, cy: 16, r: 2.6 })),
      "Prowess"),
    h("nav", { "aria-label": "Views" }, RAIL.map(({ label, about, views }) => h("div", { class: "rail-part", key: label },
      h("p", { class: "rail-group", id: `rail-${views[0]}` }, label, h("span", null, about ?? (views[0] === "home" ? agentName() : ""))),
      h("ul", { "aria-labelledby": `rail-${views[0]}` }, views.map((name) => h("li", { key: name }, h(RailLink, { name }))))))),
    h("p", { class: "rail-foot" }, gateway.version && `Prowess ${gateway.version}`));
}

function RailLink({ name }) {
  const number = counts[name]?.() ?? 0;
  // The list of skills is the agent's, also on pages whose changes concern all.
  const words = ABOUT[name]?.();
  return h("a", { class: "rail-link", href: viewLink(name), "aria-current": place.view === name ? "page" : undefined },
    h(Icon, { name }), VIEWS[name].label,
    number > 0 && h("span", { class: ["rail-count", name === "skills" && "rail-count-danger"], title: `${number} ${words}` }, number, h("span", { class: "visually-hidden" }, ` ${words}`)));
}

// A list of choices has no room for more than the name on a phone.
const narrow = matchMedia("(max-width: 760px)");
narrow.addEventListener("change", redraw);

function Bar() {
  const { search } = view();
  return h("header", { class: "bar" },
    h("div", { class: "bar-agent" }, h("label", { for: "agent" }, "Agent"),
      h("select", { id: "agent", value: agentId(), disabled: agents.state !== "ready", onchange: (event) => selectAgent(event.currentTarget.value) },
        agentList().map((agent) => h("option", { key: agent.id, value: agent.id }, agent.name || agent.id, agent.id === defaultAgentId() && !narrow.matches ? " (default)" : "")))),
    search ? h("div", { class: "bar-search", key: place.view }, h(Icon, { name: "search" }),
      h("input", {
        class: "input", type: "search", "data-search": true, "aria-label": search, placeholder: search, value: place.query.q ?? "", autocomplete: "off", spellcheck: "false",
        oninput: (event) => go({ q: event.currentTarget.value }, { replace: true }),
      }), h("kbd", { "aria-hidden": "true" }, "/")) : null,
    h("button", { class: "button quiet palette-button", type: "button", "aria-label": "Go to anything (Ctrl K)", onclick: openPalette }, h(Icon, { name: "search" }), h("span", null, "Go to"), h("kbd", { "aria-hidden": "true" }, "Ctrl K")),
    h("div", { class: "bar-end" }, h(Indexing), h(LineState),
      h("button", { class: "icon-button help-button", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts (?)", onclick: openHelp }, h(Icon, { name: "help" })),
      h("button", { class: "icon-button", "aria-label": theme() === "dark" ? "Use the light theme" : "Use the dark theme", title: "Theme", onclick: switchTheme }, h(Icon, { name: "theme" }))));
}

// Meaning takes part once many skills are encoded; how far that is can be seen until then.
let indexing = null;
follow("skills.indexing", ({ agentId: agent, done, total }) => {
  indexing = total ? { agent, done, total } : null;
});

function Indexing() {
  if (!indexing) return null;
  const { done, total } = indexing;
  return h("span", { class: "indexing meta", title: "Until all are read, messages are matched by words and names alone" }, h("progress", { max: total, value: done, "aria-label": "Skills being indexed" }), ` indexing ${Math.floor((100 * done) / total)} %`);
}

const LINE = { live: "live", connecting: "connecting", lost: "reconnecting", denied: "locked" };
const LineState = () => h("span", { class: "line-state", "data-state": gateway.state, role: "status" }, h("span", { class: "visually-hidden" }, "Connection: "), LINE[gateway.state]);

// This page came with the first gateway it met; a newer one may speak of things it does not know.
let cameWith = "";

function Upgraded() {
  cameWith ||= gateway.version;
  if (gateway.state !== "live" || gateway.version === cameWith) return null;
  return h("div", { class: "banner", role: "status", key: "upgraded" }, h(Icon, { name: "alert" }),
    h("p", null, `The gateway is Prowess ${gateway.version} now; this page is of ${cameWith}.`),
    h(Button, { onclick: () => location.reload() }, "Load the new page"));
}

function Unreadable() {
  const problem = configProblem();
  return problem && h("div", { class: "banner", role: "status", key: "unreadable" }, h(Icon, { name: "alert" }), h("p", null, problem, " ", h("code", null, "prowess doctor"), " says more."));
}

function CutOff() {
  return databaseIsLost() && h("div", { class: "banner", role: "alert", key: "cut-off" }, h(Icon, { name: "alert" }),
    h("p", null, "The gateway cannot reach its database. What you see is what it last knew; changes are refused until it is back."));
}

function Banner() {
  if (gateway.state !== "lost") return [h(Upgraded), h(Unreadable), h(CutOff)];
  return h("div", { class: "banner", role: "alert", key: "banner" }, h(Icon, { name: "alert" }),
    h("p", null, "The connection to the gateway is lost. What you see may be old; trying again. ", gateway.problem),
    h(Button, { onclick: () => gateway.retry() }, "Try now"));
}

let typed = "";

function Door() {
  const enter = (event) => {
    event.preventDefault();
    gateway.useToken(typed);
    typed = "";
  };
  return h("main", { class: "door", id: "page" },
    h("h1", { id: "page-title", tabindex: -1 }, "This gateway asks for its token"),
    h("p", { class: "muted" }, "It was given to “prowess serve” with --token or in PROWESS_GATEWAY_TOKEN, or is in the settings as gateway.auth.token. It stays in this tab."),
    gateway.problem && h("p", { class: "note note-danger", role: "alert" }, gateway.problem),
    h("form", { class: "stack", onsubmit: enter },
      h("div", { class: "field" }, h("label", { for: "token" }, "Token"),
        h("input", { id: "token", class: "input", type: "password", autocomplete: "off", value: typed, oninput: (event) => { typed = event.currentTarget.value; }, oncreate: (node) => node.focus() })),
      h("div", null, h(Button, { kind: "primary", type: "submit", disabled: !typed.trim() }, "Open the studio"))));
}

// A view that cannot be drawn says so; the rail still leads elsewhere.
function Shown() {
  try {
    return view().describe();
  } catch (error) {
    console.error(error);
    return h("div", { class: "page-scroll", key: "broken" }, h("h1", { id: "page-title", tabindex: -1 }, view().label),
      h(Failed, { error, doing: "This page could not be drawn. Something in its address or in an answer of the gateway is not as expected.", retry: () => go(clean()) }));
  }
}

// All of the address but the agent is forgotten.
const clean = () => Object.fromEntries(Object.keys(place.query).filter((key) => key !== "settingsAgentId").map((key) => [key, null]));

function Frame() {
  document.title = `${view().label} · Prowess studio`;
  if (gateway.state === "denied") return h("div", { key: "door" }, h(Door), h(Toasts));
  return h("div", { class: "frame", key: "frame" },
    h("a", { class: "skip", href: "#page", onclick: (event) => { event.preventDefault(); document.getElementById("page-title")?.focus(); } }, "Skip to the page"),
    h(Bar), h(Rail),
    h("main", { class: "page", id: "page", key: place.view, "aria-labelledby": "page-title" }, h(Banner), h(Shown)),
    h(Help), h(Palette), h(Toasts));
}

let shown = "";

onArrival(() => {
  // A new view is a new page: readers hear its title, and the keyboard starts there.
  if (shown && shown !== place.view) onceDrawn(() => document.getElementById("page-title")?.focus());
  shown = place.view;
  view().arrive?.();
});

offerViews(Object.entries(VIEWS).map(([id, { label }]) => ({ id, label })));
followTheme();
followPlaces();
shown = place.view;
followKeys(() => view().keys?.() ?? {});
drawWith(document.getElementById("studio"), Frame);
gateway.start();
