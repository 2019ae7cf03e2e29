// Whether the workshop is on, as the gateway has it, and the button that switches it on.

import { waiting } from "../app.js";
import { h } from "../dom.js";
import { ProvideSetting } from "./provide.js";

export const SWITCH = "plugins.entries.skill-workshop.enabled";

export const isOff = () => waiting.state === "ready" && waiting.value.enabled === false;

export function WorkshopOff() {
  if (!isOff()) return null;
  return h("div", { class: "note note-needs line workshop-off", role: "status" }, h("p", null, h("strong", null, "The workshop is off. "), "Nothing that agents are corrected in is kept, and nothing new comes up here."), h(ProvideSetting, { path: SWITCH }));
}
