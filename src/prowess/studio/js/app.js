// What every view shares: the line to the gateway, the agents, the selected agent's skills, and the
// news that make them fresh. Views keep their own state and read this.

import { redraw, remembered } from "./dom.js";
import { Gateway } from "./gateway.js";
import { go, onArrival, place } from "./place.js";
import { Resource } from "./resource.js";
import { Details, expand } from "./rows.js";
import { toast } from "./toasts.js";
import { tally } from "./words.js";

export const gateway = new Gateway((state) => {
  if (state === "live") welcome();
  redraw();
});

export const agents = new Resource(async () => {
  const found = await gateway.request("agents.list");
  for (const { id } of found.agents) met.add(id);
  return found;
});
// Every agent that this page has seen in a list.
const met = new Set();
export const report = new Resource(async ({ agentId }) => {
  const known = report.value;
  const found = await gateway.request("skills.rows", { agentId, ...(known ? { since: known.revision } : {}) });
  if (!found.same) return expand(found, known);
  // Where they stand is the same; what they say of themselves may be another text by now.
  for (const row of known.skills) row.isFresh = false;
  return known;
});
const details = new Details((asked) => gateway.request("skills.some", asked));
// What is these skills' own is there soon; called by whoever shows them, each time they are drawn.
export const wantDetails = (rows) => report.state === "ready" && gateway.state === "live" && details.want(report.asked.agentId, report.value, rows);
export const config = new Resource(() => gateway.request("config.get"));
export const waiting = new Resource(() => gateway.request("skills.proposals.list", { agentId: agentId(), brief: true }));

export const agentId = () => place.query.settingsAgentId ?? "";
export const agentList = () => agents.value?.agents ?? [];
export const defaultAgentId = () => agents.value?.defaultId ?? agents.value?.defaultAgentId ?? agentList()[0]?.id ?? "";
export const agentName = (id = agentId()) => agentList().find((agent) => agent.id === id)?.name || id;
const NONE = Object.freeze([]);
export const skills = () => report.value?.skills ?? NONE;
// Files that are no skill for anybody: broken, or over a limit.
export const unread = () => report.value?.unread ?? NONE;
export const pendingProposals = () => (waiting.value?.proposals ?? NONE).filter(({ status }) => status === "pending");
const joined = remembered((all, lost) => (lost.length ? [...all, ...lost] : all));
// Skills, and the files that are none.
export const everything = () => joined(skills(), unread());
const counted = remembered((rows) => {
  const found = tally(rows);
  return { ...found, problems: found.blocked + (found.states.broken ?? 0) };
});
// How many skills stand where, for every page and badge.
export const numbers = () => counted(everything());
export const skillOf = (name) => report.value?.byName.get(name);

// A file that is no config at all says nothing about what it would hold: the gateway goes on with
// the last one it understood, and so does the page. Returns what is wrong, "" where nothing is.
export function configProblem() {
  const stored = config.value;
  if (!stored || stored.valid !== false || !stored.exists || stored.raw !== null) return "";
  const said = stored.issues?.[0]?.message ?? "";
  const where = /\((line [^)]*)\)/.exec(said)?.[1] ?? said;
  const name = (stored.path ?? "").split(/[\\/]/).at(-1) || "The config";
  return `${name} cannot be read${where ? ` (${where})` : ""}; the gateway goes on with the last good one.`;
}

// A gateway of a fleet whose database is gone answers with what it last knew.
let databaseState = "";
export const databaseIsLost = () => databaseState === "lost";
gateway.on("health", ({ database }) => {
  databaseState = database?.state ?? "";
  redraw();
});

// What stands where something of the selected agent would, while there is no line to ask for it.
export const comesLater = (what = "skills") => (gateway.state === "lost" ? `${agentName()}'s ${what} come once the line is back.` : "");

// Fetches what is shown, once. Without a line nothing can be fetched, and what was fetched for
// something else must not stand under another name.
export function want(resource, asked) {
  if (JSON.stringify(resource.asked) === JSON.stringify(asked)) return;
  if (gateway.state === "live") resource.load(asked);
  else resource.clear();
}

const followers = new Map();

// Views say what of theirs goes stale: called after each event of the gateway that has this name,
// and, with "connected", each time the line is there again.
export function follow(event, called) {
  followers.set(event, [...(followers.get(event) ?? []), called]);
}

const tell = (event, payload) => {
  for (const called of followers.get(event) ?? []) called(payload);
  redraw();
};

for (const event of ["skills.changed", "skills.routed", "skills.indexing", "config.changed", "skills.proposal", "skills.install.progress", "skills.install.state"]) {
  gateway.on(event, (payload) => {
    if (event === "skills.changed" && payload.agentId === agentId()) report.reload();
    if (event === "config.changed") reconfigured(payload);
    if (event === "skills.proposal") waiting.reload();
    tell(event, payload);
  });
}

// What this page changed itself it knows already. Where skills stand otherwise is told by an event of
// its own.
let ownChange = () => Promise.resolve();
export const whileChanging = (settled) => { ownChange = settled; };

async function reconfigured({ hash }) {
  await ownChange();
  if (hash && config.value?.hash === hash) return;
  // Whether there is a workshop at all may be said there.
  waiting.reload();
  config.reload();
  await agents.reload();
  settleAgent();
  redraw();
}

// A connection that came back may have missed anything: all that is shown is asked for again. The
// greeting names the agents, so nothing has to wait for their list.
function welcome() {
  const { health, sessionDefaults } = gateway.hello.snapshot;
  databaseState = health.database?.state ?? "";
  const find = (id) => health.agents.find((agent) => agent.agentId === id);
  if (!find(agentId())) {
    tellOfStranger(agentId(), find(sessionDefaults.defaultAgentId)?.name || sessionDefaults.defaultAgentId);
    // Quietly: all that follows is asked for below.
    go({ settingsAgentId: sessionDefaults.defaultAgentId }, { replace: true, quiet: true });
  }
  agents.load();
  config.load();
  report.load({ agentId: agentId() });
  waiting.load({ agentId: agentId() });
  tell("connected", {});
}

// The address names an agent that exists; one that is gone gives way to the default.
function settleAgent() {
  if (!agentList().length || agentList().some((agent) => agent.id === agentId())) return;
  tellOfStranger(agentId(), agentName(defaultAgentId()));
  go({ settingsAgentId: defaultAgentId() }, { replace: true });
}

// Whoever sees another agent's page than the one they asked for hears why.
function tellOfStranger(id, shown) {
  if (id) toast(`${id} is ${met.has(id) ? "no longer" : "not"} an agent; this is ${shown}.`, { tone: "danger" });
}

onArrival(() => {
  if (agents.state === "ready") settleAgent();
  if (!agentId()) return;
  want(report, { agentId: agentId() });
  want(waiting, { agentId: agentId() });
});

export function selectAgent(id) {
  go({ settingsAgentId: id, skill: null });
}
