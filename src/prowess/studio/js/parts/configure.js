// The dialog in which one skill is made ready for every agent: programs, key, variables, settings,
// the switch for all, and, apart from these, its removal. Each part stands for itself: while one
// works, the others can be used.

import { config, configProblem, report, wantDetails } from "../app.js";
import { h, onceDrawn, redraw } from "../dom.js";
import { count, emojiOf, group, installOption, isLeftOut, isRemovable, readiness, readinessChip, reasons, sentence, sourceLabel } from "../words.js";
import { Button, Chip, Command, Dialog, Skeleton, Tag, WebLink } from "./basics.js";
import { Icon } from "./icon.js";
import { InstallPane } from "./install_pane.js";
import { NeedMark, Unchecked, Unreadable, isUnchecked, needClass, shownDetail, wantDetail } from "./skill_page.js";
import { ProvideSetting } from "./provide.js";
import { draft, forgetDrafts, forgetValue, install, installOf, isBusy, outcome, remove, saveKey, saveVariable, setDraft, setEnabled } from "./setup_actions.js";

// A path that goes into a command must mean the same to a shell.
const PLAIN_PATH = /^[A-Za-z0-9_.-]+$/;
const TRASH_DAYS = 30;

// What is asked twice: "remove", or the name of a variable that shall be forgotten.
let asking = "";
let typedName = "";

export function openAnew() {
  asking = "";
  typedName = "";
}

export function Configure({ skill, onclose }) {
  const state = readinessChip(skill);
  const why = reasons(skill);
  wantDetails([skill]);
  wantDetail(skill.name);
  const close = () => {
    forgetDrafts(skill);
    onclose();
  };
  return h(Dialog, { key: `configure ${skill.skillKey}`, label: `Setup ${skill.name}`, wide: true, onclose: close },
    h("div", { class: "dialog-head configure-head" },
      h("div", null, h("h2", { class: "configure-title", tabindex: -1, autofocus: true }, emojiOf(skill), `Set up ${skill.name}`),
        h("p", { class: "line" }, h(Chip, { tone: state.tone }, state.label), h(Tag, null, sourceLabel(skill)))),
      h("button", { class: "icon-button", "aria-label": "Close", onclick: close }, h(Icon, { name: "close" }))),
    h("p", { class: "configure-scope" }, h(Icon, { name: "alert" }), h("span", null, "What you do here counts for every agent of this gateway. ", why.length > 0 && h("strong", null, `${skill.name} ${why.map(sentence).join("; ")}.`))),
    configProblem() && h("p", { class: "note note-danger" }, `${configProblem()} Nothing can be stored or switched until it is mended.`),
    // All of it at once: what came later would push away the button that somebody is about to press.
    skill.requirements ? [h(Programs, { skill }), h(Key, { skill }), h(Variables, { skill }), h(Settings, { skill }), h(Nothing, { skill }), h(Switch, { skill }), h(Removal, { skill, close })] : h(Skeleton, { rows: 4 }));
}

// `home`: where the keyboard goes on when what it was on is done with.
function Part({ title, children, danger, name, home = "h3" }) {
  return h("section", { class: ["dialog-part", "configure-part", danger && "danger-part"], "aria-labelledby": `part-${name}`, "data-home": home }, h("h3", { id: `part-${name}`, tabindex: -1 }, title), children);
}

// A region that is always there: readers hear what comes into it.
const Outcome = ({ of }) => h("div", { role: "status" }, of && h("p", { class: `note note-${of.tone}` }, of.words));

function Need({ missing, unchecked, children }) {
  return h("li", { class: needClass({ missing, unchecked }) }, h(NeedMark, { missing, unchecked }), children, unchecked && h(Unchecked));
}

function Programs({ skill }) {
  const wanted = skill.requirements ?? {};
  const job = installOf(skill);
  if (!wanted.bins?.length && !wanted.anyBins?.length && !job) return null;
  const anyMissing = skill.missing?.anyBins?.length > 0;
  const isMissing = anyMissing || skill.missing?.bins?.length > 0;
  const unchecked = isUnchecked(skill, "bins");
  return h(Part, { title: "Programs", name: "programs", home: ".install-end,h3" },
    h("ul", { class: "needs" },
      (wanted.bins ?? []).map((name) => h(Need, { key: name, unchecked, missing: skill.missing?.bins?.includes(name) }, h("code", { class: "break" }, name))),
      wanted.anyBins?.length > 0 && h(Need, { unchecked, missing: anyMissing }, h("span", { class: "break" }, "one of ", wanted.anyBins.map((name, place) => [place ? ", " : "", h("code", null, name)])))),
    isMissing && h(Ways, { skill, job }),
    job && h(InstallPane, { key: "pane", job }));
}

function Ways({ skill, job }) {
  const offered = (skill.install ?? []).filter((option) => option.kind !== "brew" || report.value?.installers.includes("brew"));
  const best = offered.find((option) => option === installOption(skill)) ?? null;
  const others = offered.filter((option) => option !== best);
  const runs = job?.state === "running";
  if (readiness(skill) === "unavailable" && !isLeftOut(skill)) return h("p", { class: "muted" }, "There is nothing to install: the skill does not work on this machine's system.");
  if (!best && !others.length) {
    return h("p", { class: "muted" }, skill.install?.length ? "The way that the skill offers needs brew, and brew is not here. Install it" : "The skill does not say how to get it. Install it", " on the machine that runs the gateway, so that it is found on the PATH; this page notices.");
  }
  const way = (option, kind) => h(Button, { key: option.id, kind, busy: runs && job.option.id === option.id, disabled: (runs && job.option.id !== option.id) || skill.disabled, onclick: () => install(skill, option) }, option.label);
  return [
    h("p", { class: "install-caveat", id: "install-caveat" }, h(Icon, { name: "program" }), h("span", null,
      "It is installed on the machine that runs the gateway, into the gateway's own tools folder, not on the one in front of you. ",
      "Every agent can use it there; agents that run in a container or on another machine do not get it.",
      group(skill) !== "builtin" && " The skill does not come with Prowess: read it before you rely on it.")),
    h("div", { class: "line", role: "group", "aria-label": "Ways to install", "aria-describedby": "install-caveat" }, best && way(best, "primary"), others.map((option) => way(option, ""))),
    skill.disabled && h("p", { class: "meta" }, "Nothing is installed for a skill that is switched off: switch it on first."),
  ];
}

const entry = (skill) => config.value?.parsed?.skills?.entries?.[skill.skillKey] ?? {};

// "stored" in the config, "environment" of the gateway, "missing", or "optional".
function standing(skill, name, isStored) {
  if (configProblem() && !skill.missing?.env?.includes(name)) return "unknown";
  if (isStored) return "stored";
  if (skill.missing?.env?.includes(name)) return "missing";
  return skill.requirements?.env?.includes(name) ? "environment" : "optional";
}

const STANDINGS = {
  stored: ["ready", "Stored", "A value is stored with the gateway. Saving another one replaces it; it is never shown."],
  environment: ["ready", "Set", "Set in the gateway's own environment, which wins over a value saved here."],
  missing: ["needs", "Not set", "It is stored with the gateway and never shown again."],
  unknown: ["slate", "Not known", "Whether a value is stored cannot be seen while the config cannot be read."],
  optional: ["slate", "Not stored", "Optional. It is stored with the gateway and never shown again."],
};

function Key({ skill }) {
  if (!skill.primaryEnv) return null;
  return h(Part, { title: "API key", name: "key" },
    h(Secret, { skill, name: skill.primaryEnv, action: "key", isStored: Boolean(entry(skill).apiKey || entry(skill).env?.[skill.primaryEnv]), canForget: Boolean(entry(skill).apiKey), save: () => saveKey(skill), forget: () => forgetValue(skill, null) }),
    /^https?:/i.test(skill.homepage ?? "") && h("p", { class: "meta" }, "The skill's own page: ", h(WebLink, { href: skill.homepage }, skill.homepage)));
}

function Variables({ skill }) {
  const names = (skill.requirements?.env ?? []).filter((name) => name !== skill.primaryEnv);
  if (!names.length) return null;
  return h(Part, { title: names.length > 1 ? "Variables" : "Variable", name: "variables" }, names.map((name) => {
    const isStored = Boolean(entry(skill).env?.[name]);
    return h(Secret, { key: name, skill, name, action: `env ${name}`, isStored, canForget: isStored, save: () => saveVariable(skill, name), forget: () => forgetValue(skill, name) });
  }));
}

// Write-only: what is stored never comes here, so it cannot be shown.
function Secret({ skill, name, action, isStored, canForget, save, forget, key }) {
  const [tone, word, about] = STANDINGS[standing(skill, name, isStored)];
  const typed = draft(skill, action);
  const busy = isBusy(skill, action);
  const field = `secret ${name}`.replaceAll(/[^\w]/g, "-");
  const submit = (event) => {
    event.preventDefault();
    if (draft(skill, action).trim() && !busy) save();
  };
  return h("form", { key, class: "secret", onsubmit: submit, autocomplete: "off", "data-home": "input" },
    h("p", { class: "line" }, h("label", { for: field }, h("code", null, name)), h(Chip, { tone }, word)),
    h("div", { class: "secret-line" },
      h("input", {
        id: field, class: "input", type: "password", autocomplete: "new-password", spellcheck: "false", value: typed, readOnly: busy,
        placeholder: isStored ? "A new value" : "Paste the value", "aria-describedby": `${field}-about`,
        oninput: (event) => setDraft(skill, action, event.currentTarget.value),
      }),
      h(Button, { kind: typed.trim() ? "primary" : "", type: "submit", busy, disabled: !typed.trim() || Boolean(configProblem()) }, `Save ${name}`)),
    h("p", { class: "meta", id: `${field}-about` }, about),
    h(Outcome, { of: outcome(skill, action) }),
    canForget && h(Forget, { name, busy, forget }));
}

function Forget({ name, busy, forget }) {
  if (asking !== name) return h("div", { key: "ask" }, h(Button, { kind: "quiet small", busy, onclick: () => { asking = name; } }, `Forget the stored ${name}`));
  const done = () => {
    asking = "";
    forget();
  };
  // It takes the place of what was pressed, and so of the keyboard, too.
  return h("div", { key: "sure", class: "note line", role: "group", "aria-label": `Forget ${name}`, tabindex: -1, oncreate: (node) => node.focus() }, h("span", null, "It is kept nowhere else and cannot come back."),
    h(Button, { kind: "danger", busy, onclick: done }, `Forget ${name}`), h(Button, { kind: "quiet", disabled: busy, onclick: () => { asking = ""; } }, "Keep it"));
}

function Settings({ skill }) {
  const checks = skill.configChecks ?? [];
  if (!checks.length) return null;
  return h(Part, { title: checks.length > 1 ? "Settings" : "Setting", name: "settings" },
    h("ul", { class: "needs" }, checks.map(({ path, satisfied }) => h(Need, { key: path, missing: !satisfied }, h("code", { class: "break" }, path)))),
    checks.filter(({ satisfied }) => !satisfied).map(({ path }) => h("div", { class: "stack-tight", key: `${path} command` }, h(ProvideSetting, { path }),
      PLAIN_PATH.test(path) && h(Command, { text: `prowess config set ${path} ${/enabled$/i.test(path) ? "true" : "VALUE"}` }))));
}

// The same list with this one in it, for a terminal.
function letIn(skill) {
  const listed = config.value?.parsed?.skills?.allowBundled;
  const keys = [...new Set([...(Array.isArray(listed) ? listed : []), skill.skillKey])];
  return keys.every((key) => PLAIN_PATH.test(key)) ? `prowess config set skills.allowBundled '${JSON.stringify(keys)}'` : "";
}

function Nothing({ skill }) {
  if (skill.blockedByMetadata) return h(Unreadable, { name: skill.name });
  if (isLeftOut(skill)) {
    return h(Part, { title: "Setting", name: "bundled" },
      h("p", { class: "muted" }, "It comes with Prowess, and the setting ", h("code", null, "skills.allowBundled"), " names those that agents may have: it is not among them. Set it in a terminal on the gateway's machine; this page notices."),
      letIn(skill) && h("div", { class: "stack-tight" }, h(Command, { text: letIn(skill) })));
  }
  const wants = Object.entries(skill.requirements ?? {}).some(([kind, names]) => kind !== "os" && names.length);
  if (wants || skill.primaryEnv || installOf(skill)) return null;
  const words = readiness(skill) === "unavailable" ? "There is nothing to set up: it cannot work on this machine." : "There is nothing to set up: it needs nothing but itself.";
  return h("p", { class: "muted" }, words);
}

function Switch({ skill }) {
  const busy = isBusy(skill, "enabled");
  return h(Part, { title: "For all agents", name: "switch" },
    h("div", { class: "part-line" },
      h("p", { class: "muted" }, skill.disabled
        ? "Switched off: no agent uses it, whatever its own list says."
        : "Switched on: each agent's own list decides. Switching it off here overrules every list."),
      h(Button, { busy, disabled: Boolean(configProblem()), onclick: () => setEnabled(skill, Boolean(skill.disabled)) }, skill.disabled ? "Switch on for all agents" : "Switch off for all agents")),
    h(Outcome, { of: outcome(skill, "enabled") }));
}

const STAYS = {
  builtin: "It comes with Prowess and cannot be removed, only switched off.",
  extra: "It lies in a folder that the settings name: take it out of there by hand.",
  other: "It belongs to another program: remove it there.",
  workspace: "It lies in a folder that is not Prowess's own: take it out of there by hand.",
};

function Removal({ skill, close }) {
  if (!isRemovable(skill)) return h("p", { class: "meta configure-stays" }, STAYS[group(skill)] ?? STAYS.other);
  return h(Part, { title: "Remove", name: "remove", danger: true, home: "button,h3" },
    asking === "remove" ? h(ConfirmRemoval, { skill, close }) : h("div", { class: "part-line" },
      h("p", { class: "muted" }, `Takes the skill's folder away from ${whose(skill)}.`),
      h(Button, { kind: "danger", onclick: startRemoval }, `Remove ${skill.name}…`)));
}

const whose = (skill) => (skill.source === "openclaw-managed" ? "every agent" : "every agent of this workspace");

function startRemoval() {
  asking = "remove";
  typedName = "";
  onceDrawn(() => document.getElementById("confirm-name")?.focus());
}

function ConfirmRemoval({ skill, close }) {
  const busy = isBusy(skill, "remove");
  const matches = typedName.trim() === skill.name;
  const submit = async (event) => {
    event.preventDefault();
    if (!matches || busy) return;
    if (await remove(skill)) close();
    redraw();
  };
  return h("form", { class: "stack-tight", onsubmit: submit },
    h("p", null, "The folder ", h("code", { class: "break" }, skill.baseDir), ` and everything in it is taken from ${whose(skill)}. It waits in the trash for ${count(TRASH_DAYS, "day")} and is then deleted. What is stored for it (switch, key, variables) stays in the config.`),
    h(Heir, { skill }),
    h("div", { class: "field" }, h("label", { for: "confirm-name" }, "Type ", h("code", null, skill.name), " to confirm"),
      h("input", { id: "confirm-name", class: "input", autocomplete: "off", spellcheck: "false", readOnly: busy, value: typedName, oninput: (event) => { typedName = event.currentTarget.value; } })),
    h(Outcome, { of: outcome(skill, "remove") }),
    h("div", { class: "line" }, h(Button, { kind: "danger", type: "submit", busy, disabled: !matches }, `Remove ${skill.name} and its files`),
      h(Button, { kind: "quiet", disabled: busy, onclick: () => { asking = ""; } }, `Keep ${skill.name}`)));
}

// A copy in another source is used as soon as this one is gone: nobody should find out later.
function Heir({ skill }) {
  const heir = shownDetail(skill.name)?.shadows.find(({ identical }) => !identical);
  return heir ? h("p", { class: "note" }, "Another skill of that name takes its place: ", h("code", { class: "break" }, heir.path)) : null;
}
