// What is wrong with files of skills: where, since which line, and what to do. Used for what was
// noticed while reading them and for what a validation says.

import { agentId, gateway } from "../app.js";
import { h } from "../dom.js";
import { Resource } from "../resource.js";
import { count } from "../words.js";
import { Button, Chip, Failed, Skeleton } from "./basics.js";
import { Icon } from "./icon.js";

const TONES = { error: "danger", warning: "needs", info: "slate" };
const WEIGHTS = { error: 0, warning: 1, info: 2 };

export const heaviest = (findings) => [...findings].sort((one, other) => (WEIGHTS[one.severity] ?? 3) - (WEIGHTS[other.severity] ?? 3));

export function Findings({ findings }) {
  return h("ul", { class: "remarks" }, heaviest(findings).map((one) => h("li", { class: "remark", key: `${one.code} ${one.line} ${one.message}` },
    h("p", { class: "line" }, h(Chip, { tone: TONES[one.severity] ?? "slate" }, one.severity), one.line ? h("code", null, `line ${one.line}`) : null, h("span", { class: "break" }, one.message)),
    one.fix && h("p", { class: "meta break" }, one.fix))));
}

// One file with its findings; `link` leads to what it is.
export function FileFindings({ path, findings, link }) {
  return h("section", { class: "file-remarks", key: path }, h("h3", { class: "file-path break" }, h(Icon, { name: "file" }), link ? h("a", { href: link }, path) : path), h(Findings, { findings }));
}

// `name` is "" for every skill of the agent.
export const validation = new Resource(({ agent, name, strict }) =>
  gateway.request("skills.validate", { agentId: agent, ...(name ? { name } : {}), ...(strict ? { strict } : {}) }, { timeout: 120_000 }));

export const validate = (name, strict) => validation.load({ agent: agentId(), name, strict });

export const isAbout = (name) => validation.asked !== undefined && validation.asked.name === name && validation.asked.agent === agentId();

export function StrictChoice({ strict, onchange }) {
  return h("label", { class: "strict" }, h("input", { type: "checkbox", checked: strict, onchange: (event) => onchange(event.currentTarget.checked) }),
    h("span", null, "Strict", h("span", { class: "meta" }, " as the open standard has it: portable names and keys alone")));
}

function summary(reports) {
  const invalid = reports.filter(({ valid }) => !valid).length;
  const noted = reports.filter(({ valid, diagnostics }) => valid && diagnostics.length).length;
  if (!invalid && !noted) return `${count(reports.length, "file")} checked: nothing to say.`;
  const parts = [invalid && `${invalid} not valid`, noted && `${noted} valid with remarks`].filter(Boolean);
  return `${count(reports.length, "file")} checked: ${parts.join(", ")}.`;
}

// `linkOf(path)` gives the address of what lies there.
export function ValidationResults({ linkOf, retry }) {
  if (validation.state === "failed") return h(Failed, { error: validation.error, doing: "The validation did not run.", retry });
  if (validation.state !== "ready") return h(Skeleton, { rows: 3, label: "Validating" });
  const { valid, reports } = validation.value;
  const wordy = reports.filter(({ diagnostics }) => diagnostics.length).sort((one, other) => one.valid - other.valid);
  return h("div", { class: "stack", "aria-busy": validation.busy ? "true" : undefined },
    h("p", { class: ["note", valid ? "note-ready" : "note-danger"], role: "status" }, summary(reports)),
    wordy.map(({ path, diagnostics }) => h(FileFindings, { path, findings: diagnostics, link: linkOf?.(path) })));
}

export const ValidateButton = ({ name, strict }) =>
  h(Button, { icon: "check", busy: isAbout(name) && validation.busy, onclick: () => validate(name, strict) }, `Validate ${name}`);
