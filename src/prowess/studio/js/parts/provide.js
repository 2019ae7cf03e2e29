// What several skills wait for, given once: a key for all that need it, or a setting of the gateway.
// What was typed stays until the gateway has taken it, and no longer.

import { config, configProblem, gateway, report, waiting } from "../app.js";
import { h, redraw } from "../dom.js";
import { complain, toast } from "../toasts.js";
import { count } from "../words.js";
import { Button } from "./basics.js";

const typed = new Map();
const busy = new Set();
const PLAIN_PATH = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

async function give(id, done, call) {
  if (busy.has(id)) return;
  busy.add(id);
  redraw();
  try {
    await call();
    typed.delete(id);
    toast(done);
    await Promise.all([config.reload(), report.reload(), waiting.reload()]);
  } catch (error) {
    complain(error, "Nothing was stored.");
  } finally {
    busy.delete(id);
    redraw();
  }
}

function Field({ id, label, secret, placeholder, button, save }) {
  const value = typed.get(id) ?? "";
  const submit = (event) => {
    event.preventDefault();
    // What stands there now: Enter may come before the next frame.
    const now = (typed.get(id) ?? "").trim();
    if (now) save(now);
  };
  return h("form", { class: "provide", onsubmit: submit, autocomplete: "off" },
    h("input", { class: "input", type: secret ? "password" : "text", "aria-label": label, placeholder, autocomplete: secret ? "new-password" : "off", spellcheck: "false", value, readOnly: busy.has(id), oninput: (event) => typed.set(id, event.currentTarget.value) }),
    h(Button, { type: "submit", busy: busy.has(id), disabled: Boolean(configProblem()) }, button));
}

export function ProvideKey({ thing }) {
  const keys = [...new Set(thing.skills.map(({ skillKey }) => skillKey))];
  const save = (value) => give(thing.id, `${thing.name} is stored for ${count(keys.length, "skill")}.`, () => gateway.request("skills.provide", { skillKeys: keys, env: { [thing.name]: value } }));
  return h(Field, { id: thing.id, label: `Value of ${thing.name}`, secret: true, placeholder: "Paste the value", button: "Save", save });
}

// The value as the config would hold it: JSON where it is JSON, text otherwise.
function meant(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const nested = (path, value) => path.split(".").reduceRight((inside, key) => ({ [key]: inside }), value);

// `always`: also one that ends like a switch may be set to anything.
export function ProvideSetting({ path, always = false }) {
  if (!PLAIN_PATH.test(path)) return h("p", { class: "meta" }, "The path holds characters that no setting's name has: look at the skill's file before you set anything.");
  const set = (value) => give(path, `${path} is set.`, () => gateway.request("config.patch", { raw: JSON.stringify(nested(path, value)), ...(config.value?.exists ? { baseHash: config.value.hash } : {}) }));
  if (/enabled$/i.test(path) && !always) return h(Button, { busy: busy.has(path), disabled: Boolean(configProblem()), onclick: () => set(true) }, "Switch it on");
  return h(Field, { id: path, label: `Value of ${path}`, placeholder: "Value", button: "Set", save: (text) => set(meant(text)) });
}
