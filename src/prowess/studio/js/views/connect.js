// Connect: every coding agent of this machine, whether it is connected, and how its calls go. What
// connecting would write is shown first, line by line, and only that is written.

import { agentId, follow, gateway } from "../app.js";
import { h, redraw } from "../dom.js";
import { Button, Chip, Command, Dialog, Failed, GatewayBand, Loaded, PageHead, Skeleton } from "../parts/basics.js";
import { PlainDiff } from "../parts/diff.js";
import { harnesses, lastCall, needsLook } from "../parts/harnesses.js";
import { Icon } from "../parts/icon.js";
import { go, place } from "../place.js";
import { Resource } from "../resource.js";
import { complain, toast } from "../toasts.js";
import { count } from "../words.js";

const plan = new Resource(({ harness, remove }) => gateway.request("harness.plan", { harness, remove }, { timeout: 60_000 }));
let isBusy = false;

const SCOPES = { user: "for you, in every project", project: "for this project" };

function Numbers({ one }) {
  const facts = [
    ["Last call", one.connected.length || one.calls ? lastCall(one).split(" · ")[0] : "–"],
    ["A call takes", one.latencyMs === null ? "–" : `${one.latencyMs} ms`],
    ["Hints", one.hintRate === null ? "–" : `${Math.round(100 * one.hintRate)} % of prompts`],
    ["Failed", one.calls ? `${one.failed} of ${one.calls}` : "–"],
  ];
  return h("dl", { class: "harness-facts" }, facts.map(([label, value]) => h("div", { key: label }, h("dt", null, label), h("dd", null, value))));
}

function state(one) {
  if (needsLook(one)) return ["danger", "Needs a look"];
  if (one.connected.length) return ["ready", "Connected"];
  return one.installed ? ["needs", "Not connected"] : ["slate", "Not here"];
}

function Harness({ one }) {
  const [tone, word] = state(one);
  const isConnected = one.connected.length > 0;
  return h("li", { class: "harness", key: one.harness, "data-harness": one.harness },
    h("div", { class: "harness-words" }, h("h3", null, one.title, one.version && h("span", { class: "meta" }, ` ${one.version}`), " ", h(Chip, { tone }, word)),
      h("p", { class: "muted" }, isConnected ? one.connected.map((scope) => SCOPES[scope] ?? scope).join(" and ") : one.installed ? "It is on this machine, and does not ask Prowess." : "It was not found on this machine."),
      one.problems.map((problem) => h("p", { key: problem, class: "note note-danger break" }, problem))),
    one.installed || isConnected ? h(Numbers, { one }) : h("span", { class: "harness-facts" }),
    h("div", { class: "harness-acts" }, (one.installed || isConnected) && h(Button, { "aria-label": `${isConnected ? "Disconnect" : "Connect"} ${one.title}`, kind: isConnected ? "" : "primary", onclick: () => go({ harness: one.harness, remove: isConnected ? "1" : null }) }, isConnected ? "Disconnect…" : "Connect…"),
      h(Command, { text: one.command + (isConnected ? " --remove" : "") })));
}

function Change({ file }) {
  return h("section", { class: "plan-file", key: file.path }, h("h3", { class: "file-path break" }, h(Icon, { name: "file" }), file.path, h("span", { class: "meta" }, { keep: "stays as it is", create: "is made", change: "is changed", remove: "is removed" }[file.action])),
    file.diff.length > 0 && h(PlainDiff, { lines: file.diff, label: `What changes in ${file.path}` }));
}

const close = () => go({ harness: null, remove: null }, { replace: true });

async function carryOut() {
  const { harness, remove } = plan.asked;
  const title = harnesses.value?.harnesses.find((one) => one.harness === harness)?.title ?? harness;
  isBusy = true;
  redraw();
  try {
    const done = await gateway.request("harness.connect", { harness, remove, plan: plan.value.plan }, { timeout: 60_000 });
    const files = done.files.filter(({ written }) => written).length;
    toast(`${title} is ${remove ? "disconnected" : "connected"}: ${count(files, "file")} written.`);
    close();
  } catch (error) {
    complain(error, `${title} was not ${remove ? "disconnected" : "connected"}.`);
    plan.reload();
  } finally {
    isBusy = false;
    harnesses.reload();
    redraw();
  }
}

function Plan() {
  const { harness } = place.query;
  if (!harness) return null;
  const remove = place.query.remove === "1";
  if (gateway.state === "live" && (plan.asked?.harness !== harness || plan.asked.remove !== remove)) plan.load({ harness, remove });
  const title = harnesses.value?.harnesses.find((one) => one.harness === harness)?.title ?? harness;
  const value = plan.state === "ready" ? plan.value : null;
  return h(Dialog, { key: "plan", label: `${remove ? "Disconnect" : "Connect"} ${title}`, wide: true, onclose: close },
    h("div", { class: "dialog-head configure-head" }, h("div", null, h("h2", { class: "configure-title", tabindex: -1, autofocus: true }, `${remove ? "Disconnect" : "Connect"} ${title}`), h("p", { class: "muted" }, "This is what is written, and nothing else. The old files are kept beside the new ones.")),
      h("button", { class: "icon-button", "aria-label": "Close", onclick: close }, h(Icon, { name: "close" }))),
    plan.state === "failed" ? h(Failed, { error: plan.error, doing: "There is no plan for it.", retry: () => plan.reload() }) : !value ? h(Skeleton, { rows: 3 }) : [
      value.files.map((file) => h(Change, { file })),
      value.notes.map((note) => h("p", { key: note, class: "note break" }, note)),
      !value.changed && h("p", { class: "note note-ready" }, "Nothing has to change."),
      h("div", { class: "dialog-actions" }, h(Button, { onclick: close }, "Cancel"), value.changed && h(Button, { kind: remove ? "danger" : "primary", busy: isBusy, onclick: carryOut }, remove ? `Disconnect ${title}` : `Connect ${title}`))]);
}

const order = (one) => (one.connected.length ? 0 : one.installed ? 1 : 2);

function describe() {
  const rows = [...(harnesses.value?.harnesses ?? [])].sort((one, other) => order(one) - order(other));
  const connected = rows.filter((one) => one.connected.length).length;
  return [h(GatewayBand, { words: "Connecting writes into the settings of a coding agent on the gateway's machine." }),
    h("div", { class: "page-scroll connect", key: "page" }, h(PageHead, { title: "Connect", scope: rows.length ? `${connected} of ${count(rows.length, "coding agent")} connected.` : "The coding agents of this machine." }, h(Button, { onclick: () => harnesses.reload() }, "Look again")),
      h(Loaded, { of: harnesses, doing: "The coding agents could not be looked at.", rows: 5, describe: () => h("ul", { class: "harnesses" }, rows.map((one) => h(Harness, { one }))) })),
    h(Plan)];
}

const look = () => place.view === "connect" && gateway.state === "live" && agentId() && harnesses.load({});
follow("connected", look);

export const connect = { label: "Connect", search: "", describe, keys: () => ({}), arrive: () => harnesses.state === "empty" && look() };
