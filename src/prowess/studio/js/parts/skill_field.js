// A field in which one of many skills is chosen by its letters: the browser's own list of proposals,
// filled with the few that fit.

import { skillOf, skills } from "../app.js";
import { h } from "../dom.js";

const MOST = 20;
// What was typed and is no name yet, by the field's id.
const typed = new Map();

function fitting(words) {
  const wanted = words.trim().toLowerCase();
  const found = [];
  for (const { name } of skills()) {
    if (!name.toLowerCase().includes(wanted)) continue;
    found.push(name);
    if (found.length >= MOST) break;
  }
  return found;
}

// `extra` are choices beside skills: [value, label].
export function SkillField({ id, label, value, placeholder, onchange, extra = [], hidden }) {
  const words = typed.get(id) ?? extra.find(([one]) => one === value)?.[1] ?? value ?? "";
  const take = (event) => {
    const text = event.currentTarget.value;
    const other = extra.find(([, said]) => said === text)?.[0];
    typed.set(id, text);
    if (other === undefined && text && !skillOf(text)) return;
    typed.delete(id);
    onchange(other ?? text);
  };
  const settle = () => typed.delete(id);
  return h("span", { class: "skill-field" }, label && h("label", { for: id }, label),
    h("input", { id, class: "input", list: `${id}-list`, value: words, placeholder, autocomplete: "off", spellcheck: "false", "aria-label": hidden, oninput: take, onblur: settle }),
    h("datalist", { id: `${id}-list` }, extra.map(([, said]) => h("option", { key: ` ${said}`, value: said })), fitting(typed.get(id) ?? "").map((name) => h("option", { key: name, value: name }))));
}
