// What an install says while it runs, as a terminal would show it, and how it ended.

import { h } from "../dom.js";
import { Icon } from "./icon.js";

let follows = true;

export function bytes(number) {
  if (number < 1_000) return `${number} B`;
  const [value, unit] = number < 1_000_000 ? [number / 1_000, "KB"] : [number / 1_000_000, "MB"];
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 })} ${unit}`;
}

const ENDS = { running: ["", "clock"], done: ["note-ready", "check"], failed: ["note-danger", "alert"] };

export function InstallPane({ job, key }) {
  const [tone, icon] = ENDS[job.state];
  return h("div", { class: "install", key },
    job.received !== null && h(Received, { job }),
    h("pre", {
      class: "terminal", tabindex: 0, role: "log", "aria-live": "off", "aria-label": `Output of “${job.option.label}”`,
      oncreate: (node) => { follows = true; toEnd(node); }, onupdate: toEnd, onscroll: (event) => { follows = isAtEnd(event.currentTarget); },
    }, h("span", { class: "terminal-head" }, `# ${job.option.label}\n`), job.text || (job.state === "running" ? "…" : "It said nothing.")),
    h("p", { class: ["note", "install-end", tone], role: "status", tabindex: -1 }, h(Icon, { name: icon }), h("span", null, job.state !== "running" ? job.message
      : job.isOurs ? "Installing. You may close this: it goes on." : `An install of ${job.skill} is running. It was started in another window, or before this page was loaded.`)),
    job.warnings.length > 0 && h("ul", { class: "install-warnings" }, job.warnings.map((words) => h("li", { key: words }, words))));
}

function Received({ job }) {
  const words = job.total ? `${bytes(job.received)} of ${bytes(job.total)}` : bytes(job.received);
  return h("div", { class: "install-progress" },
    h("progress", { ...(job.total ? { max: job.total, value: job.received } : {}), "aria-label": "Downloaded" }), h("span", { class: "meta" }, words));
}

const isAtEnd = (node) => node.scrollHeight - node.scrollTop - node.clientHeight < 24;

// Whoever scrolled up reads something: it stays in sight.
function toEnd(node) {
  if (follows) node.scrollTop = node.scrollHeight;
}
