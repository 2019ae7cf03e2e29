// Short messages at the edge of the page: what happened, and a way back where there is one.

import { h, redraw } from "./dom.js";
import { Icon } from "./parts/icon.js";

const shown = [];
let next = 1;
const STAYS_MS = 6_000;

// tone: "ok" or "danger". What went wrong stays until it is closed.
export function toast(message, { tone = "ok", action = null } = {}) {
  const one = { id: next++, message, tone, action };
  shown.push(one);
  while (shown.length > 4) shown.shift();
  if (tone === "ok") setTimeout(() => dismiss(one), action ? STAYS_MS * 2 : STAYS_MS);
  redraw();
}

export const complain = (error, doing) => toast(doing ? `${doing} ${error.message}` : error.message, { tone: "danger" });

function dismiss(one) {
  const place = shown.indexOf(one);
  if (place >= 0) shown.splice(place, 1);
  redraw();
}

export function Toasts() {
  return h("div", { class: "toasts", role: "status", "aria-live": "polite", "aria-label": "Messages" },
    shown.map((one) =>
      h("div", { class: ["toast", one.tone === "danger" && "toast-danger"], key: one.id, role: one.tone === "danger" ? "alert" : undefined },
        h(Icon, { name: one.tone === "danger" ? "alert" : "check" }),
        h("p", null, one.message),
        one.action && h("button", { class: "button quiet", onclick: () => { one.action.run(); dismiss(one); } }, one.action.label),
        h("button", { class: "icon-button", "aria-label": "Close message", onclick: () => dismiss(one) }, h(Icon, { name: "close" })),
      ),
    ),
  );
}
