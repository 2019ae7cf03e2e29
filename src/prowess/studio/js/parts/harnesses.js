// The coding agents of this machine, and how the connection of each does: for the page that connects
// them, and for those that only say how they are.

import { gateway } from "../app.js";
import { Resource } from "../resource.js";
import { ago } from "../words.js";

export const harnesses = new Resource(() => gateway.request("harness.list", {}, { timeout: 60_000 }));

// Something about a connection is not as it should be.
export const needsLook = (one) => one.problems.length > 0 || (one.connected.length > 0 && (!one.installed || one.failed > one.calls / 4));

export function lastCall(one) {
  if (!one.connected.length) return "not connected";
  if (!one.lastCallAt) return "has not called yet";
  const parts = [ago(one.lastCallAt), one.latencyMs !== null && `${one.latencyMs} ms`, one.hintRate !== null && `hint at ${Math.round(100 * one.hintRate)} % of prompts`];
  return parts.filter(Boolean).join(" · ");
}
