// Which skills an agent may use: read from the config, changed in the config. Every change is
// computed on the config that is stored at that moment, so that nobody's edit is undone: a stale
// hash is answered by reading again and computing again, once.

import { config, gateway, whileChanging } from "./app.js";
import { GatewayError } from "./gateway.js";

const clean = (list) => [...new Set(list.filter((name) => typeof name === "string" && name.trim()).map((name) => name.trim()))].sort();

function entryOf(values, agentId) {
  const listed = values?.agents?.list;
  const found = Array.isArray(listed) ? listed.find((agent) => agent?.id === agentId) : undefined;
  const entries = values?.agents?.entries ?? {};
  // An agent may be called like something that every object has.
  return found ?? (Object.hasOwn(entries, agentId) ? entries[agentId] : undefined);
}

// mode: "all" (no list), "none" (an empty one) or "selected"; inherited says that the list is the
// defaults' and not this agent's own.
export function access(values, agentId) {
  if (!values) return read(values, agentId);
  if (!known.has(values)) known.set(values, new Map());
  const agents = known.get(values);
  if (!agents.has(agentId)) agents.set(agentId, read(values, agentId));
  return agents.get(agentId);
}

// A list of thousands is read once, and asked once for each skill.
const known = new WeakMap();

function read(values, agentId) {
  const own = entryOf(values, agentId)?.skills;
  const shared = values?.agents?.defaults?.skills;
  const list = Array.isArray(own) ? own : Array.isArray(shared) ? shared : null;
  const inherited = !Array.isArray(own) && Array.isArray(shared);
  if (list === null) return { mode: "all", names: [], has: new Set(), inherited: false };
  const names = clean(list);
  return { mode: names.length ? "selected" : "none", names, has: new Set(names), inherited };
}

// The agent's own list; null where it has none, be it that it takes all or the defaults.
export const ownList = ({ mode, inherited, names }) => (mode === "all" || inherited ? null : names);

export const isAllowed = ({ mode, has }, skill) => mode === "all" || has.has(skill.name) || has.has(skill.skillKey);

// What the list becomes when one skill is switched: from "all", every other one is written down.
export function toggled(current, skill, on, allNames) {
  const base = current.mode === "all" ? clean(allNames) : current.names;
  const without = base.filter((name) => name !== skill.name && name !== skill.skillKey);
  return on ? clean([...without, skill.name]) : without;
}

// `list` is null to allow everything, [] for nothing. Returns whether anything had to change.
function withList(values, agentId, list) {
  const next = structuredClone(values ?? {});
  const entry = entryOf(next, agentId);
  if (list === null) {
    if (!entry || !("skills" in entry)) return null;
    delete entry.skills;
    return next;
  }
  if (entry && Array.isArray(entry.skills) && JSON.stringify(clean(entry.skills)) === JSON.stringify(list)) return null;
  if (entry) entry.skills = list;
  else {
    next.agents ??= {};
    next.agents.list = [...(next.agents.list ?? []), { id: agentId, skills: list }];
  }
  return next;
}

let underway = Promise.resolve();

// `decide` gets the access that is stored now and returns the list that shall be. Changes of this
// page wait for each other: ten quick clicks would make ten stale hashes.
export function changeAccess(agentId, decide) {
  const change = underway.then(() => changeNow(agentId, decide));
  underway = change.catch(() => {});
  return change;
}

whileChanging(() => underway);

// What the page shows is what it starts from: only where that is old it is read once more.
async function changeNow(agentId, decide) {
  for (const last of [false, true]) {
    const stored = !last && config.state === "ready" ? config.value : await gateway.request("config.get");
    if (stored.valid === false && stored.raw === null && stored.exists) {
      throw new GatewayError("INVALID_REQUEST", `${stored.path} cannot be read: mend it first (prowess doctor says where).`);
    }
    const values = stored.parsed ?? stored.config;
    const next = withList(values, agentId, decide(access(values, agentId)));
    if (next === null && stored === config.value && !last) continue;
    if (next === null) return;
    const asked = { raw: JSON.stringify(next), ...(stored.exists ? { baseHash: stored.hash } : {}) };
    try {
      const { hash, config: parsed } = await gateway.request("config.set", asked);
      config.put({ ...stored, exists: true, hash, raw: "", parsed, config: parsed, valid: true, issues: [] });
      return;
    } catch (error) {
      if (!error.isStale) throw error;
      if (last) throw new GatewayError(error.code, "Somebody else keeps changing the config at this very moment: try again.");
    }
  }
}
