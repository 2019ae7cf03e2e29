// What can be done to a skill for every agent, and how far each of it is. Nothing here draws; the
// page and the dialog read it. What was typed stays until the gateway has taken it, also when the
// dialog is closed meanwhile.

import { agentId, config, follow, gateway, report, skills } from "../app.js";
import { redraw } from "../dom.js";
import { place } from "../place.js";
import { complain, toast } from "../toasts.js";

// The gateway stops an install after five minutes by itself: it shall be the one to say so.
const INSTALL_MS = 330_000;
const MOST_OUTPUT = 200_000;

const working = new Set();
const drafts = new Map();
const outcomes = new Map();
const installs = new Map();
const idOf = (skill, action) => `${skill.skillKey} ${action}`;

export const isBusy = (skill, action) => working.has(idOf(skill, action));
export const draft = (skill, action) => drafts.get(idOf(skill, action)) ?? "";
export const setDraft = (skill, action, text) => { drafts.set(idOf(skill, action), text); };
// What became of an action: {tone, words}; nothing before it was tried.
export const outcome = (skill, action) => outcomes.get(idOf(skill, action)) ?? null;
export const installOf = (skill) => installs.get(skill.name);

// Secrets that were typed and not saved do not outlive the dialog.
export function forgetDrafts(skill) {
  for (const kept of [drafts, outcomes]) {
    for (const id of [...kept.keys()]) if (id.startsWith(`${skill.skillKey} `)) kept.delete(id);
  }
}

// Said in the dialog where it was asked for; a toast stands behind it and is for those who left.
function say(skill, action, words, tone, undo) {
  if (place.view === "setup" && place.query.configure === skill.skillKey) outcomes.set(idOf(skill, action), { words, tone });
  else toast(words, { tone: tone === "danger" ? "danger" : "ok", action: undo ? { label: "Undo", run: undo } : null });
}

// One action of one skill runs at a time. Returns whether it was done.
async function act(skill, action, call) {
  const id = idOf(skill, action);
  if (working.has(id)) return false;
  working.add(id);
  outcomes.delete(id);
  redraw();
  try {
    await call();
    await Promise.all([config.reload(), report.reload()]);
    return true;
  } catch (error) {
    say(skill, action, error.message, "danger");
    return false;
  } finally {
    working.delete(id);
    redraw();
  }
}

export async function saveKey(skill) {
  const typed = draft(skill, "key");
  const saved = await act(skill, "key", () => gateway.request("skills.update", { skillKey: skill.skillKey, apiKey: typed }));
  if (saved) taken(skill, "key", skill.primaryEnv);
}

export async function saveVariable(skill, name) {
  const action = `env ${name}`;
  const typed = draft(skill, action);
  const saved = await act(skill, action, () => gateway.request("skills.update", { skillKey: skill.skillKey, env: { [name]: typed } }));
  if (saved) taken(skill, action, name);
}

function taken(skill, action, name) {
  drafts.delete(idOf(skill, action));
  say(skill, action, `${name} is stored for ${skill.name}.`, "ready");
}

// `name` is null for the key. The value is nowhere else: this cannot be undone.
export async function forgetValue(skill, name) {
  const change = name === null ? { apiKey: "" } : { env: { [name]: "" } };
  const action = name === null ? "key" : `env ${name}`;
  const done = await act(skill, action, () => gateway.request("skills.update", { skillKey: skill.skillKey, ...change }));
  if (done) say(skill, action, `${name ?? skill.primaryEnv} is no longer stored for ${skill.name}.`, "ready");
}

// The operator's own word on one finding; the reason is kept.
export async function acceptFinding(skill, finding) {
  const action = `accept ${finding.evidenceHash}`;
  const asked = { skillKey: skill.skillKey, agentId: agentId(), ruleId: finding.ruleId, evidenceHash: finding.evidenceHash, reason: draft(skill, action) };
  const done = await act(skill, action, () => gateway.request("skills.scan.accept", asked, { timeout: 60_000 }));
  if (done) taken(skill, action, `Your word on ${finding.ruleId}`);
}

export async function setEnabled(skill, enabled) {
  const done = await act(skill, "enabled", () => gateway.request("skills.update", { skillKey: skill.skillKey, enabled }));
  if (done) say(skill, "enabled", `${skill.name} is ${enabled ? "on" : "off"} for all agents.`, "ready", () => setEnabled(skill, !enabled));
}

// Returns whether the skill is gone.
export async function remove(skill) {
  let gone = null;
  const done = await act(skill, "remove", async () => {
    gone = await gateway.request("skills.remove", { skillKey: skill.skillKey, source: skill.source, agentId: agentId() });
  });
  if (!done) return false;
  const back = gone.id ? { action: { label: "Undo", run: () => restore(gone.id, skill.name) } } : {};
  toast(gone.removed ? `${skill.name} is in the trash.` : `${skill.name} was gone already.`, back);
  for (const called of onTrash) called();
  return true;
}

const onTrash = [];
export const whenTrashChanges = (called) => onTrash.push(called);

const restoring = new Set();
export const isRestoring = (id) => restoring.has(id);

export async function restore(id, name) {
  if (restoring.has(id)) return;
  restoring.add(id);
  redraw();
  try {
    await gateway.request("skills.restore", { id });
    await report.reload();
    toast(`${name} is back where it was.`);
  } catch (error) {
    if (/ is not in the trash/.test(error.message)) toast(`${name} is no longer in the trash.`, { tone: "danger" });
    // People know it by its name, the gateway by where it lies.
    else complain(Object.assign(error, { message: error.message.replaceAll(id, name) }), `${name} stays in the trash.`, name);
  } finally {
    restoring.delete(id);
    for (const called of onTrash) called();
    redraw();
  }
}

export async function install(skill, option) {
  if (installOf(skill)?.state === "running") return;
  const job = { skill: skill.name, option, isOurs: true, state: "running", text: "", received: null, total: null, message: "", warnings: [] };
  installs.set(skill.name, job);
  redraw();
  try {
    const asked = { name: skill.name, installId: option.id, agentId: agentId() };
    finish(job, "done", await gateway.request("skills.install", asked, { timeout: INSTALL_MS }), "Installed");
  } catch (error) {
    finish(job, "failed", error.payload ?? {}, said(error));
    // Nobody tells this page any more how it goes: from here on it looks.
    if (error.code === "LOST") job.isOurs = false;
  }
  if (place.query.configure !== skill.skillKey) toast(`${skill.name}: ${job.message}`, { tone: job.state === "done" ? "ok" : "danger" });
  await report.reload();
}

const said = (error) => (error.code === "LOST" ? "The connection broke while it ran: whether it is there shows once the line is back." : error.message);

function finish(job, state, result, message) {
  job.state = state;
  job.message = message;
  job.warnings = result.warnings ?? [];
  // Programs tell as they go, downloads at their end.
  const told = [result.stdout, result.stderr].filter(Boolean).join("\n");
  if (!job.text && told) job.text = told;
}

const FOLLOW_MS = 1_000;
let looking = 0;

const canFollow = () => gateway.state === "live" && (gateway.hello?.features?.methods?.includes("skills.installs") ?? false);

// Installs that other windows started, or this one before it was loaded: the gateway knows them.
async function lookForInstalls() {
  clearTimeout(looking);
  if (!canFollow()) return;
  // Without an answer the next event, or the next connection, asks again.
  const found = await gateway.request("skills.installs").catch(() => null);
  if (!found) return;
  // The last one of a skill counts; they come in this order.
  const newest = new Map([...found.installs].reverse().map((one) => [one.skill, one]));
  for (const one of newest.values()) takeOver(one);
  if ([...installs.values()].some((job) => !job.isOurs && job.state === "running")) looking = setTimeout(lookForInstalls, FOLLOW_MS);
  redraw();
}

function takeOver(found) {
  const known = installs.get(found.skill);
  // What was asked for here is told here; only a later one of another window is news.
  if (known?.isOurs && (known.state === "running" || found.state !== "running")) return;
  const offered = skills().find(({ name }) => name === found.skill)?.install?.find(({ id }) => id === found.installId);
  const option = offered ?? known?.option ?? { id: found.installId, label: found.installId };
  const { state, output: text, received, total, message, warnings } = found;
  const words = message || (state === "done" ? "Installed" : "It failed.");
  installs.set(found.skill, { skill: found.skill, option, isOurs: false, state, text, received, total, message: words, warnings });
  if (known?.state === "running" && state !== "running") ended(found.skill, state, words);
}

function ended(name, state, words) {
  report.reload();
  const shown = skills().find((one) => one.name === name);
  if (place.view === "setup" && place.query.configure !== shown?.skillKey) toast(`${name}: ${words}`, { tone: state === "done" ? "ok" : "danger" });
}

follow("connected", lookForInstalls);
follow("skills.install.state", ({ skill }) => {
  const job = installs.get(skill);
  if (!job?.isOurs || job.state !== "running") lookForInstalls();
});

follow("skills.install.progress", ({ skill, installId, text, received, total }) => {
  const job = installs.get(skill);
  if (!job?.isOurs || job.state !== "running" || job.option.id !== installId) return;
  if (text !== undefined) job.text = (job.text + text).slice(-MOST_OUTPUT);
  if (received !== undefined) Object.assign(job, { received, total });
});
