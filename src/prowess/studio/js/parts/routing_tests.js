// Messages saved as tests: kept once for the whole gateway, run as the selected agent would route.

import { agentId, agentName, follow, gateway } from "../app.js";
import { h, redraw } from "../dom.js";
import { Resource } from "../resource.js";
import { complain, toast } from "../toasts.js";
import { count } from "../words.js";
import { Button, Command, Loaded } from "./basics.js";
import { Icon } from "./icon.js";
import { SkillField } from "./skill_field.js";

// No skill has this name: it holds a character that names may not.
const NO_SKILL = "*";
// The gateway keeps no longer ones.
export const LONGEST_TEST = 4_000;

const tests = new Resource(() => gateway.request("skills.tests.list"));
const runs = new Resource(({ agent }) => gateway.request("skills.tests.run", { agentId: agent }, { timeout: 120_000 }));
const choice = { should: true, name: "", isTouched: false };
let saving = false;

export const canTest = () => gateway.hello?.features?.methods?.includes("skills.tests.add") ?? false;

export function fetchTests() {
  if (gateway.state === "live" && canTest()) tests.load({});
}

// Results hold for the agent they were made with, and for the skills as they were.
const result = (test) => (runs.state === "ready" && runs.asked.agent === agentId() ? runs.value.results.find(({ id }) => id === test.id) : undefined);

async function save(message) {
  const { name, should } = chosen();
  saving = true;
  redraw();
  try {
    await gateway.request("skills.tests.add", { agentId: agentId(), message, should, ...(name === NO_SKILL ? { should: false } : { name }) });
    await tests.reload();
    runs.outdate();
    toast("Saved as a test.");
  } catch (error) {
    complain(error, "The test was not saved.", "The test");
  } finally {
    saving = false;
    redraw();
  }
}

async function remove(test) {
  try {
    await gateway.request("skills.tests.remove", { id: test.id });
    // What was counted were other tests.
    runs.outdate();
    await tests.reload();
    const { message, should, name } = test;
    const again = async () => {
      await gateway.request("skills.tests.add", { agentId: agentId(), message, should, ...(name ? { name } : {}) }).catch((error) => complain(error, "The test was not brought back."));
      runs.outdate();
      tests.reload();
    };
    toast("The test is removed.", { action: { label: "Undo", run: again } });
  } catch (error) {
    complain(error, "The test was not removed.", "The test");
  }
}

let best = "";
let about = "";
// Until the person chooses, the test speaks about what the router found.
const chosen = () => (choice.isTouched ? choice : { should: true, name: best || NO_SKILL });

// What the router says about another message is a new proposal; about the same, the person's choice
// stays.
export function proposeTest(name, asked) {
  best = name;
  if (about === JSON.stringify(asked)) return;
  about = JSON.stringify(asked);
  choice.isTouched = false;
}

const choose = (change) => Object.assign(choice, chosen(), change, { isTouched: true });

// `isOld`: what is shown answers another message, so nothing is saved about this one yet.
export function SaveTest({ message, isOld }) {
  const { should, name } = chosen();
  const submit = (event) => {
    event.preventDefault();
    save(message);
  };
  return h("form", { class: "save-test", onsubmit: submit, "aria-label": "Save as test" },
    h("span", null, "This message"),
    h("select", { class: "input", "aria-label": "Should or should not", value: name === NO_SKILL || should ? "yes" : "no", disabled: name === NO_SKILL, onchange: (event) => choose({ should: event.currentTarget.value === "yes" }) },
      h("option", { value: "yes" }, "should"), h("option", { value: "no" }, "should not")),
    h("span", null, "load"),
    h(SkillField, { id: "test-skill", hidden: "Skill", value: name, extra: [[NO_SKILL, "no skill at all"]], onchange: (chosen_) => chosen_ && choose({ name: chosen_ }) }),
    h(Button, { type: "submit", icon: "plus", busy: saving, disabled: isOld || gateway.state !== "live" || !message.trim() || message.length > LONGEST_TEST }, "Save as test"),
    message.length > LONGEST_TEST && h("span", { class: "meta" }, `Tests hold up to ${LONGEST_TEST.toLocaleString("en")} characters.`));
}

const wanted = ({ should, name }) => (name ? `${should ? "should" : "should not"} load ${name}` : "should load no skill");

function got(run) {
  if (run.problem) return run.problem;
  if (run.loaded.length) return `loads ${run.loaded.join(", ")}`;
  return run.offered.length ? `offers ${run.offered.join(", ")}` : "loads none";
}

function Test({ test, use }) {
  const run = result(test);
  return h("li", { key: test.id, class: "test" },
    h("span", { class: ["test-mark", run && (run.passed ? "test-passed" : "test-failed")] }, h(Icon, { name: run ? (run.passed ? "check" : "close") : "minus" }), h("span", { class: "visually-hidden" }, run ? (run.passed ? "Passed: " : "Failed: ") : "Not run: ")),
    h("div", null, h("button", { class: "message-button", type: "button", title: "Try this message", onclick: () => use(test.message) }, test.message),
      h("p", { class: "meta break" }, wanted(test), run && !run.passed ? ` · ${got(run)}` : "")),
    h("button", { class: "icon-button", type: "button", "aria-label": `Remove the test “${test.message.slice(0, 60)}”`, title: "Remove", onclick: () => remove(test) }, h(Icon, { name: "close" })));
}

function Result() {
  if (runs.state === "failed") return h("p", { class: "note note-danger", role: "alert" }, "The tests did not run. ", runs.error.message);
  if (runs.state !== "ready" || runs.asked.agent !== agentId()) return null;
  const { passed, total, status } = runs.value;
  return h("p", { class: "meta", role: "status" }, passed === total ? `${total === 1 ? "It passes" : `All ${total} pass`} with ${agentName()}.` : `${passed} of ${total} pass with ${agentName()}.`, status === "degraded" ? " Only words and names were matched." : "");
}

export function TestList({ use }) {
  const list = tests.value?.tests ?? [];
  return h("section", { class: "side-part", "aria-labelledby": "tests-title", "data-home": "h2" },
    h("header", { class: "side-head" }, h("h2", { id: "tests-title", tabindex: -1 }, "Saved tests"), h("span", { class: "meta" }, tests.state === "ready" ? `${count(list.length, "test")}, for all agents` : ""),
      list.length > 0 && h(Button, { kind: "quiet", busy: runs.busy, onclick: () => runs.load({ agent: agentId() }) }, "Run all")),
    canTest() ? h(Loaded, { of: tests, doing: "The tests could not be read.", rows: 2, describe: () => [
      h(Result),
      list.length ? h("ul", { class: "tests" }, list.map((test) => h(Test, { test, use }))) : h("p", { class: "muted" }, "None yet. Save a message above to notice when its answer changes."),
      list.length > 0 && h("div", { class: "side-foot" }, h("p", { class: "meta" }, "The same in a terminal:"), h(Command, { text: "prowess eval --saved" })),
    ] }) : h("p", { class: "muted" }, "This gateway keeps no tests."));
}

follow("connected", () => tests.state !== "empty" && fetchTests());
// Other skills, other answers: what was passed before may fail now.
follow("skills.changed", () => runs.outdate());
