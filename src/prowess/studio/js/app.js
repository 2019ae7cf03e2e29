// What every view shares: the line to the gateway, the agents, the selected agent's skills, and the
// news that make them fresh. Views keep their own state and read this.

import { redraw } from "./dom.js";
import { Gateway } from "./gateway.js";
import { go, onArrival, place } from "./place.js";
import { Resource } from "./resource.js";

export const gateway = new Gateway((state) => {
  if (state === "live") welcome();
  redraw();
});

export const agents = new Resource(() => gateway.request("agents.list"));
export const report = new Resource(({ agentId }) => gateway.request("skills.status", { agentId }));
export const config = new Resource(() => gateway.request("config.get"));
export const waiting = new Resource(() => gateway.request("skills.proposals.list", { agentId: agentId() }));

export const agentId = () => place.query.settingsAgentId ?? "";
export const agentList = () => agents.value?.agents ?? [];
export const defaultAgentId = () => agents.value?.defaultId ?? agents.value?.defaultAgentId ?? agentList()[0]?.id ?? "";
export const agentName = (id = agentId()) => agentList().find((agent) => agent.id === id)?.name || id;
export const skills = () => report.value?.skills ?? [];

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

for (const event of ["skills.changed", "config.changed", "skills.proposal", "skills.install.progress"]) {
  gateway.on(event, (payload) => {
    if (event === "skills.changed" && payload.agentId === agentId()) report.reload();
    if (event === "config.changed") reconfigured();
    if (event === "skills.proposal") waiting.reload();
    tell(event, payload);
  });
}

async function reconfigured() {
  config.reload();
  await agents.reload();
  settleAgent();
  report.reload();
  redraw();
}

// A connection that came back may have missed anything: all that is shown is asked for again. The
// greeting names the agents, so nothing has to wait for their list.
function welcome() {
  const { health, sessionDefaults } = gateway.hello.snapshot;
  const known = health.agents.map((agent) => agent.agentId);
  // Quietly: all that follows is asked for below.
  if (!known.includes(agentId())) go({ settingsAgentId: sessionDefaults.defaultAgentId }, { replace: true, quiet: true });
  agents.load();
  config.load();
  report.load({ agentId: agentId() });
  waiting.load({ agentId: agentId() });
  tell("connected", {});
}

// The address names an agent that exists; one that is gone gives way to the default.
function settleAgent() {
  if (!agentList().some((agent) => agent.id === agentId())) go({ settingsAgentId: defaultAgentId() }, { replace: true });
}

onArrival(() => {
  if (agents.state === "ready") settleAgent();
  if (gateway.state !== "live" || !agentId() || report.asked?.agentId === agentId()) return;
  report.load({ agentId: agentId() });
  waiting.load({ agentId: agentId() });
});

export function selectAgent(id) {
  go({ settingsAgentId: id, skill: null });
}
