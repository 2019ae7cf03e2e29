// Something that is fetched and shown: loading, ready or failed. Answers that come after something
// else was asked for are dropped, so that a page never shows one agent's skills under another's name.

import { redraw } from "./dom.js";

export class Resource {
  constructor(fetch) {
    this._fetch = fetch;
    this._turn = 0;
    this.clear();
  }

  // "empty", "loading", "ready" or "failed". Once ready it stays so while it is fetched again.
  clear() {
    this._turn += 1;
    this._later = null;
    this.state = "empty";
    this.value = null;
    this.error = null;
    this.busy = false;
    this.asked = undefined;
  }

  // What was answered holds no longer. Whoever waits for an answer, or was told that none came, gets
  // one that is asked for now.
  outdate() {
    if (this.busy || this.state === "failed") this.reload();
    else this.clear();
  }

  load(asked) {
    this._later = null;
    this._running = this._load(asked);
    return this._running;
  }

  async _load(asked) {
    const turn = ++this._turn;
    // Something else is wanted: what was shown belongs to another question.
    if (JSON.stringify(asked) !== JSON.stringify(this.asked)) {
      this.state = "loading";
      this.value = null;
    } else if (this.state !== "ready") this.state = "loading";
    this.asked = asked;
    this.busy = true;
    redraw();
    try {
      const value = await this._fetch(asked);
      if (turn !== this._turn) return;
      this.value = value;
      this.error = null;
      this.state = "ready";
    } catch (error) {
      if (turn !== this._turn) return;
      this.error = error;
      if (this.state !== "ready") this.state = "failed";
    }
    this.busy = false;
    redraw();
  }

  // What became of it is known already, such as by what somebody just wrote.
  put(value) {
    this._turn += 1;
    this._later = null;
    Object.assign(this, { value, error: null, state: "ready", busy: false });
    redraw();
  }

  // Fetch again what is shown; nothing happens where nothing was asked for.
  // While it is being fetched, one more time is enough for however many ask: what is under way may
  // be older than what they know of, what comes after it is not.
  reload() {
    if (this.asked === undefined && this.state === "empty") return undefined;
    if (!this.busy) return this.load(this.asked);
    if (!this._later) {
      const later = this._running.then(() => (this._later === later ? this.load(this.asked) : this._running));
      this._later = later;
    }
    return this._later;
  }
}
