// Where every skill stands, as the gateway tells it in few bytes, and what is one skill's own, which
// is asked for by whoever shows it. A row is an object whose prototype is its shape: five thousand of
// them share a few. What was asked for stays with the row of that name, so that nothing flickers when
// the rows come anew; it is asked for again all the same.

import { redraw } from "./dom.js";

// What is a skill's own, and never where it stands: that is the row's to say.
const OWN = ["description", "emoji", "homepage", "primaryEnv", "filePath", "baseDir", "dialect", "requirements", "configChecks", "install", "scannerBlock"];
const MOST = 100;

export function expand(found, known) {
  const skills = [];
  const unread = [];
  const byName = new Map();
  for (const [name, shape, key] of found.rows) {
    const row = Object.create(found.shapes[shape]);
    row.name = name;
    row.skillKey = key ?? name;
    row.isFresh = false;
    if (row.unread) {
      unread.push(row);
      continue;
    }
    const before = known?.byName.get(name);
    if (before?.description !== undefined) take(row, before);
    skills.push(row);
    byName.set(name, row);
  }
  return { ...found, rows: undefined, shapes: undefined, skills, unread, byName };
}

function take(row, from) {
  for (const field of OWN) if (field === "scannerBlock" ? row.blockedByScanner : true) row[field] = from[field];
}

// Fills the rows that a window shows; one question at a time, the newest window counts.
export class Details {
  constructor(ask) {
    this._ask = ask;
    this._wanted = null;
    this._isBusy = false;
    this._refused = new Set();
  }

  // `rows` of `report`, as many as are shown.
  want(agentId, report, rows) {
    const names = rows.filter((row) => !row.isFresh && !row.unread && !this._refused.has(row)).slice(0, MOST).map(({ name }) => name);
    if (!names.length) return;
    this._wanted = { agentId, report, names };
    if (!this._isBusy) this._next();
  }

  async _next() {
    while (this._wanted) {
      const { agentId, report, names } = this._wanted;
      this._wanted = null;
      this._isBusy = true;
      const rows = names.map((name) => report.byName.get(name)).filter((row) => row && !row.isFresh);
      if (!rows.length) continue;
      try {
        const found = await this._ask({ agentId, names: rows.map(({ name }) => name) });
        for (const one of found.skills) {
          const row = report.byName.get(one.name);
          if (row) take(row, one);
        }
      } catch {
        // The row says where it stands; whoever opens the skill is told what went wrong.
        rows.forEach((row) => this._refused.add(row));
      }
      for (const row of rows) row.isFresh = true;
      redraw();
    }
    this._isBusy = false;
  }
}
