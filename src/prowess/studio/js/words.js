// What a skill's verdict is called, and why it is so, in the words that every view uses.

const SYSTEMS = { darwin: "macOS", linux: "Linux", win32: "Windows", windows: "Windows" };
const named = (values) => (values ?? []).filter((value) => value.trim());

// Where a skill stands: one word that every view uses, in the order in which `prowess why` looks. The
// first match counts.
export function readiness(skill) {
  if (skill.unread) return skill.unread;
  if (skill.disabled) return "disabled";
  if (skill.blockedByAllowlist) return "leftout";
  if (skill.blockedByScanner) return skill.scanPending ? "scanning" : "blocked";
  if (skill.platformIncompatible || named(skill.missing?.os).length) return "unavailable";
  if (!skill.eligible) return "setup";
  return skill.draft ? "draft" : "ready";
}

export const READINESS = {
  ready: { label: "Ready", tone: "ready" },
  setup: { label: "Setup required", tone: "needs" },
  blocked: { label: "Blocked by the scanner", tone: "danger" },
  scanning: { label: "Not scanned yet", tone: "slate" },
  unavailable: { label: "Not supported", tone: "slate" },
  disabled: { label: "Off for all agents", tone: "slate" },
  leftout: { label: "Left out", tone: "slate" },
  draft: { label: "Draft", tone: "slate" },
  broken: { label: "Cannot be read", tone: "danger" },
  cut: { label: "Over a limit", tone: "needs" },
};

export const readinessChip = (skill) => READINESS[readiness(skill)];
// What is left out by a setting is no matter of the system.
export const isLeftOut = (skill) => readiness(skill) === "leftout";
// Nothing that anybody switches makes it usable here.
export const isUnsupported = (skill) => ["unavailable", "draft", "broken", "cut"].includes(readiness(skill));

// By what people look for skills, and which states each holds; the same on every page, so that the
// same word always has the same number.
export const FILTERS = [
  { id: "all", label: "All" },
  { id: "ready", label: "Ready", states: ["ready"] },
  { id: "setup", label: "Setup required", states: ["setup"] },
  { id: "blocked", label: "Blocked", states: ["blocked"] },
  { id: "scanning", label: "Not scanned yet", states: ["scanning"] },
  { id: "unsupported", label: "Not supported", states: ["unavailable"] },
  { id: "off", label: "Off for all", states: ["disabled", "leftout", "draft"] },
  { id: "unread", label: "Not loaded", states: ["broken", "cut"] },
];
export const FILTER_OF = Object.fromEntries(FILTERS.flatMap(({ id, states }) => (states ?? []).map((state) => [state, id])));
const ALWAYS_SHOWN = new Set(["all", "ready", "setup", "blocked"]);

// How many of `rows` there are of each state, and of each filter.
export function tally(rows) {
  const found = { all: rows.length, states: {} };
  for (const { id } of FILTERS) found[id] ??= 0;
  for (const row of rows) {
    const state = readiness(row);
    found.states[state] = (found.states[state] ?? 0) + 1;
    found[FILTER_OF[state]] += 1;
  }
  return found;
}

// Filters with their counts, without those that hold nothing; `value` is the one that is chosen.
export const filterOptions = (numbers, value) => FILTERS.filter(({ id }) => ALWAYS_SHOWN.has(id) || id === value || !numbers || numbers[id]).map(({ id, label }) => ({ id, label, count: numbers?.[id] }));
export const filterFor = (asked) => (FILTERS.some(({ id }) => id === asked) ? asked : "all");

// Every reason why it is not ready: what kind it is, and a sentence part that starts with a verb. What
// nobody can change here comes before what can be set up.
export function reasons(skill) {
  const missing = skill.missing ?? {};
  const found = [];
  const add = (kind, words, names = []) => found.push({ kind, words, names });
  if (skill.unread === "broken") add("broken", `cannot be read: ${skill.filePath}${skill.line ? `, line ${skill.line}` : ""}: ${skill.reason}`);
  if (skill.unread === "cut") add("cut", `is over a limit: ${skill.reason}`);
  if (skill.disabled) add("disabled", "is switched off for every agent");
  if (skill.blockedByAllowlist) add("policy", "is left out by skills.allowBundled");
  if (skill.scanPending) add("scanning", "was not scanned yet");
  else if (skill.blockedByScanner) add("blocked", `is blocked by the scanner${skill.scannerBlock ? `: ${skill.scannerBlock.reason}` : ""}`);
  if (skill.blockedByMetadata) add("metadata", "has requirements that cannot be read");
  const systems = named(missing.os);
  if (systems.length) add("os", `works only on ${systems.map((name) => SYSTEMS[name] ?? name).join(" or ")}`);
  else if (skill.platformIncompatible) add("os", "does not work on this system");
  const bins = named(missing.bins);
  if (bins.length) add("bin", `needs the program${bins.length > 1 ? "s" : ""}`, bins);
  const any = named(missing.anyBins);
  if (any.length) add("anyBin", "needs one of the programs", any);
  const env = named(missing.env);
  if (env.length) add("env", "needs", env);
  const paths = named(missing.config);
  if (paths.length) add("config", `needs the setting${paths.length > 1 ? "s" : ""}`, paths);
  if (skill.draft) add("draft", "is a draft: promote it with “prowess experience promote”");
  return found;
}

export const sentence = ({ words, names }) => (names.length ? `${words} ${names.join(", ")}` : words);

export function firstReason(skill) {
  const [first] = reasons(skill);
  if (first) return sentence(first);
  return readiness(skill) === "ready" ? "" : "is not ready, and its file does not say why";
}

const ONE = { bin: "needs the program", config: "needs the setting", env: "needs" };

// For a row, which has one line: the first thing that is missing, and how much more is.
export function shortReason(skill) {
  const [first, ...others] = reasons(skill);
  if (!first || !(first.kind in ONE)) return firstReason(skill);
  const more = first.names.length - 1 + others.reduce((sum, { kind, names }) => sum + (kind in ONE ? names.length : 1), 0);
  return `${ONE[first.kind]} ${first.names[0]}${more ? ` and ${more} more` : ""}`;
}

// Where something can be set up: not what a setting, the system or its own file keeps away.
export const canSetUp = (skill) => ["setup", "disabled", "leftout"].includes(readiness(skill));

const clusters = new Intl.Segmenter("en", { granularity: "grapheme" });

// A skill may put any text there: what is longer than two signs is no emoji.
export function emojiOf(skill) {
  const signs = [...clusters.segment((skill.emoji ?? "").slice(0, 80))].map(({ segment }) => segment).filter((sign) => sign.trim());
  return signs.length && signs.length <= 2 ? `${signs.join("")} ` : "";
}

const GROUPS = {
  workspace: "Workspace",
  builtin: "Built in",
  installed: "Installed",
  extra: "Extra folders",
  other: "Other harnesses",
};

export function group(skill) {
  if (skill.bundled || skill.source === "openclaw-bundled") return "builtin";
  if (["openclaw-workspace", "agents-skills-personal", "agents-skills-project"].includes(skill.source)) return "workspace";
  if (skill.source === "openclaw-managed") return "installed";
  return skill.source === "openclaw-extra" ? "extra" : "other";
}

export const groupLabel = (id) => GROUPS[id];

export const HARNESSES = { claude: "Claude Code", "claude-code": "Claude Code", codex: "Codex", gemini: "Gemini CLI", cursor: "Cursor", copilot: "Copilot CLI", vscode: "VS Code", openclaw: "OpenClaw", opencode: "opencode", qwen: "Qwen Code", windsurf: "Windsurf" };
const FOLDERS = { "agents-skills-personal": "Personal", "agents-skills-project": "Project" };

export function sourceLabel(skill) {
  if (skill.sourceLabel) return HARNESSES[skill.sourceLabel] ?? skill.sourceLabel;
  return FOLDERS[skill.source] ?? GROUPS[group(skill)];
}

const SCOPES = { gateway: "this gateway", user: "this user", workspace: "this workspace" };
export const scopeLabel = (skill) => SCOPES[skill.sourceScope] ?? "";

// Only these are folders that Prowess may take away.
export const isRemovable = (skill) => ["openclaw-managed", "openclaw-workspace"].includes(skill.source) && !skill.bundled;

// The first way to install that brings one of the missing programs.
export function installOption(skill) {
  const wanted = new Set([...named(skill.missing?.bins), ...named(skill.missing?.anyBins)]);
  if (!wanted.size) return null;
  return (skill.install ?? []).find(({ bins }) => !bins?.length || bins.some((bin) => wanted.has(bin))) ?? null;
}

// `wanted` in small letters. What a skill says of itself is the gateway's to search.
export const matchesSearch = (skill, wanted) => [skill.name, skill.skillKey, skill.source, sourceLabel(skill)].some((field) => (field ?? "").toLowerCase().includes(wanted));

// Characters that reorder, hide or split what a person reads: in a text that somebody decides on,
// they are shown by their number. Joiners stay, scripts and emoji need them.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e0fff}]/gu;
export const shownWhole = (text) => text.replace(UNSEEN, (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

// `moment` is a time in milliseconds, or as text.
export function ago(moment, now = Date.now()) {
  const ms = typeof moment === "number" ? moment : Date.parse(moment);
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 60) return "just now";
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 24) return `${hours} h ago`;
  const days = Math.round(hours / 24);
  return days < 30 ? `${count(days, "day")} ago` : new Date(ms).toLocaleDateString("en-CA");
}
