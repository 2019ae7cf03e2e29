// Skills that were added from elsewhere and are locked: source, commit, signer, and what the policies
// say. What an update would write is shown first, and only that is written.

import { agentId, comesLater, follow, gateway, want } from "../app.js";
import { h, redraw } from "../dom.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { complain, toast } from "../toasts.js";
import { count, shownWhole } from "../words.js";
import { Button, Chip, Dialog, Empty, Failed, Loaded } from "./basics.js";
import { PlainDiff } from "./diff.js";
import { Icon } from "./icon.js";

// Sources may be far away.
const SLOW = { timeout: 180_000 };
const installed = new Resource(({ agent }) => gateway.request("sharing.installed", { agentId: agent }, SLOW));
// Asks every source, so only a person begins it.
const newer = new Resource(({ agent }) => gateway.request("sharing.outdated", { agentId: agent }, SLOW));
const preview = new Resource(({ agent, name, keep }) => gateway.request("sharing.preview", { agentId: agent, name, ...(keep ? { keep } : {}) }, SLOW));
let isBusy = false;

const short = (resolved) => h("code", { title: resolved }, resolved.replace(/^sha256:/, "").slice(0, 12));
const Signer = ({ signer, issuer }) => (signer ? h("span", { class: "break" }, signer, issuer && h("span", { class: "muted" }, ` as ${issuer} says`)) : h("span", { class: "muted" }, "nobody signed it"));
// What a search for another agent found says nothing here.
const newerOf = (name) => (newer.asked?.agent === agentId() ? newer.value?.skills.find((row) => row.name === name) : undefined);

function Age({ skill, found }) {
  if (skill.pinned) return h(Chip, { tone: "slate" }, "Pinned");
  if (!found) return null;
  if (found.problem) return h(Chip, { tone: "danger" }, "Source does not answer");
  return found.outdated ? h(Chip, { tone: "accent" }, "Outdated") : h(Chip, { tone: "ready" }, "Up to date");
}

function drift({ verified }) {
  const { problem, changed, added, removed, renamed } = verified;
  const words = (label, paths) => paths.length > 0 && `${label} ${paths.join(", ")}`;
  return problem ?? [words("changed:", changed), words("added:", added), words("removed:", removed), words("renamed:", renamed.map(({ from, to }) => `${from} to ${to}`))].filter(Boolean).join("; ");
}

const EFFECTS = { block: ["danger", "Blocked by a policy"], warn: ["needs", "A policy warns"] };

function Reason({ reason }) {
  return h("li", { class: "break", key: `${reason.file} ${reason.line} ${reason.rule}` }, reason.text, " ", h("code", null, `${reason.file}:${reason.line}`), reason.waivedUntil && h("span", { class: "muted" }, ` waived until ${reason.waivedUntil}`));
}

function Skill({ skill }) {
  const found = newerOf(skill.name);
  const [tone, effect] = EFFECTS[skill.policy.effect] ?? [];
  const { name } = skill;
  return h("li", { class: "shared-skill", key: name, "data-shared": name },
    h("div", { class: "line" }, h("h4", null, h("a", { href: viewLink("library", { skill: name }) }, name)), h(Age, { skill, found }),
      !skill.verified.ok && h(Chip, { tone: "needs" }, skill.verified.problem ? "Cannot be checked" : "Edited here"), effect && h(Chip, { tone }, effect)),
    h("dl", { class: "facts" },
      h("dt", null, "Source"), h("dd", null, h("code", { class: "break" }, skill.source)),
      h("dt", null, skill.kind === "git" ? "Commit" : "Content"), h("dd", null, short(skill.resolved), skill.version && ` version ${skill.version}`, found?.outdated && found.newest && [" · newest ", short(found.newest)]),
      h("dt", null, "Signer"), h("dd", null, h(Signer, skill)),
      skill.verdict && [h("dt", null, "Scanner"), h("dd", null, skill.verdict, h("span", { class: "muted" }, " when it was added"))],
      h("dt", null, "Files"), h("dd", { class: "break" }, skill.verified.ok ? "as the lock says" : drift(skill)),
      found?.problem && [h("dt", null, "Problem"), h("dd", { class: "break" }, found.problem)],
      skill.policy.reasons.length > 0 && [h("dt", null, "Policy"), h("dd", null, h("ul", { class: "plain" }, skill.policy.reasons.map((reason) => h(Reason, { reason }))))]),
    skill.pinned ? h("p", { class: "muted" }, "Stays where it is until it is added again.")
      : h("div", null, h(Button, { "aria-label": `${found?.outdated ? "See the update" : "Look for an update"} of ${name}`, onclick: () => go({ update: name, keep: null }) }, found?.outdated ? "See the update…" : "Look for an update…")));
}

// So many are drawn at once; the rest waits for a person to ask.
const AT_ONCE = 20;
let most = AT_ONCE;

// What needs a person stands first.
const turn = (skill) => (skill.policy.effect === "block" ? 0 : newerOf(skill.name)?.outdated ? 1 : skill.verified.ok ? 3 : 2);

function Lock({ lock }) {
  const wanted = (place.query.q ?? "").trim().toLowerCase();
  const found = lock.skills.filter(({ name, source }) => [name, source].some((words) => words.toLowerCase().includes(wanted))).sort((one, other) => turn(one) - turn(other));
  return h("section", { class: "section", key: lock.file }, h("h3", { class: "file-path break" }, h(Icon, { name: "lock" }), lock.file),
    found.length ? h("ul", { class: "shared-skills" }, found.slice(0, most).map((skill) => h(Skill, { skill }))) : h("p", { class: "muted" }, `No skill of this lock matches “${place.query.q}”.`),
    found.length > most && h("div", null, h(Button, { onclick: () => { most += AT_ONCE; } }, `Show ${Math.min(AT_ONCE, found.length - most)} more of ${count(found.length - most, "skill")}`)));
}

function Locks({ locks }) {
  if (!locks.some(({ skills }) => skills.length)) return h(Empty, { title: "Nothing was added from elsewhere.", command: "prowess add owner/repo --to agent" }, "What is added is scanned, shown and locked before an agent reads it.");
  return locks.filter(({ skills }) => skills.length).map((lock) => h(Lock, { lock }));
}

export function InstalledPage() {
  const asked = { agent: agentId() };
  if (agentId()) want(installed, asked);
  const locks = installed.value?.locks ?? [];
  const total = locks.reduce((sum, { skills }) => sum + skills.length, 0);
  const outdated = locks.flatMap(({ skills }) => skills).filter(({ name }) => newerOf(name)?.outdated).length;
  const isAsked = newer.asked?.agent === agentId();
  return h("article", { class: "skill-page library-page" },
    h("header", null, h("h2", { class: "skill-title", tabindex: -1 }, "Installed from elsewhere"),
      h("p", { class: "muted", role: "status" }, installed.state === "ready" ? `${count(total, "skill")} in ${count(locks.length, "lock")}.` : "", isAsked && newer.state === "ready" && ` ${outdated ? `${outdated} outdated` : "Nothing newer"}.`),
      total > 0 && h("div", null, h(Button, { busy: newer.busy, onclick: () => newer.load(asked) }, "Ask the sources for updates"))),
    isAsked && newer.state === "failed" && h(Failed, { error: newer.error, doing: "The sources could not be asked.", retry: () => newer.load(asked) }),
    h(Loaded, { of: installed, doing: "The locks could not be read.", rows: 3, later: comesLater("locks"), describe: (value) => h(Locks, value) }),
    h(Update));
}

const close = () => go({ update: null, keep: null }, { replace: true });

async function carryOut() {
  const { agent, name, keep } = preview.asked;
  isBusy = true;
  redraw();
  try {
    const done = await gateway.request("sharing.update", { agentId: agent, name, to: preview.value.to, ...(keep ? { keep } : {}) }, SLOW);
    if (done.outcome !== "updated") throw new Error(done.problem ?? `It is ${done.outcome} now.`);
    toast(`${name} is updated.`);
    close();
    if (newer.state === "ready") newer.put({ skills: newer.value.skills.filter((row) => row.name !== name) });
    preview.clear();
  } catch (error) {
    complain(error, `${name} was not updated.`, name);
    preview.reload();
  } finally {
    isBusy = false;
    installed.reload();
    redraw();
  }
}

const KEEPS = [["local", "Keep what is here"], ["upstream", "Take the source's"], ["both", "Keep both"]];

function Conflict({ conflict }) {
  const side = (label, lines) => h("div", null, h("p", { class: "meta" }, label), h("pre", { class: "plan-diff", tabindex: 0, role: "region", "aria-label": `${label}: ${conflict.path}` }, lines.map(shownWhole).join("\n") || " "));
  return h("section", { class: "plan-file", key: conflict.path }, h("h3", { class: "file-path break" }, h(Icon, { name: "file" }), conflict.path), h("p", { class: "muted" }, conflict.problem),
    conflict.lines.map((met, at) => h("div", { key: at, class: "stack" }, side("Here", met.local), side("At the source", met.upstream))));
}

function Conflicts({ conflicts }) {
  return [h("p", { class: "note note-needs" }, "Both sides changed the same lines. Nothing is written until you say what counts."), conflicts.map((conflict) => h(Conflict, { conflict })),
    h("div", { class: "dialog-actions" }, KEEPS.map(([id, label]) => h(Button, { key: id, onclick: () => go({ keep: id }, { replace: true }) }, label)))];
}

function Finding({ finding, isNew }) {
  return h("li", { class: "break", key: `${finding.rule} ${finding.file} ${finding.line} ${isNew}` }, h(Chip, { tone: isNew ? "needs" : "ready" }, isNew ? "new" : "gone"), " ", h("code", null, `${finding.file}:${finding.line}`), " ", finding.message);
}

const OUTCOMES = { current: ["ready", "The source has nothing newer."], pinned: ["slate", "It is pinned and stays where it is."] };

function Prepared({ value }) {
  const { outcome, problem, edits, difference, scan, conflicts, freshness, name } = value;
  const findings = [...scan.new.map((finding) => ({ finding, isNew: true })), ...scan.gone.map((finding) => ({ finding, isNew: false }))];
  if (OUTCOMES[outcome]) return h("p", { class: ["note", `note-${OUTCOMES[outcome][0]}`], role: "status" }, OUTCOMES[outcome][1]);
  return [problem && h("p", { class: "note note-danger", role: "alert" }, outcome === "refused" ? "Refused: " : "", problem),
    outcome !== "failed" && [
      h("dl", { class: "facts" }, h("dt", null, "From"), h("dd", null, short(value.from), value.fromVersion && ` version ${value.fromVersion}`), h("dt", null, "To"), h("dd", null, short(value.to), value.toVersion && ` version ${value.toVersion}`), h("dt", null, "Signer"), h("dd", null, h(Signer, value)), h("dt", null, "Scanner"), h("dd", null, scan.verdict),
        h("dt", null, "Freshness"), h("dd", null, freshness.made ? `made on ${freshness.made}` : "the source does not say when it was made", freshness.approved && `; yours was approved on ${freshness.approved}`)),
      edits.length > 0 && h("p", { class: "note break" }, "Edited here: ", edits.join("; ")),
      findings.length > 0 && h("ul", { class: "plain", "aria-label": "What the scanner says" }, findings.map((one) => h(Finding, one))),
      outcome === "conflict" ? h(Conflicts, { conflicts }) : difference ? h(PlainDiff, { lines: difference.replace(/\n$/, "").split("\n"), label: `What changes in ${name}` }) : h("p", { class: "muted" }, "No line of the folder changes.")],
    outcome === "ready" && h("div", { class: "dialog-actions" }, h(Button, { onclick: close }, "Cancel"), h(Button, { kind: "primary", busy: isBusy, onclick: carryOut }, `Update ${name}`))];
}

function Update() {
  const { update: name, keep } = place.query;
  if (!name || !agentId()) return null;
  want(preview, { agent: agentId(), name, keep });
  return h(Dialog, { key: "update", label: `Update ${name}`, wide: true, onclose: close },
    h("div", { class: "dialog-head configure-head" }, h("div", null, h("h2", { class: "configure-title", tabindex: -1, autofocus: true }, `Update ${name}`), h("p", { class: "muted" }, "What the source has now, merged with what was edited here. Nothing else is written.")),
      h("button", { class: "icon-button", "aria-label": "Close", onclick: close }, h(Icon, { name: "close" }))),
    h(Loaded, { of: preview, doing: "The source could not be asked.", rows: 3, later: comesLater("sources"), describe: (value) => h(Prepared, { value }) }));
}

for (const event of ["connected", "skills.changed", "config.changed"]) follow(event, () => place.query.report === "installed" && installed.reload());
