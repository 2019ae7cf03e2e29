// The answer to something that changes while a person types. It is asked for after a short pause,
// one question at a time and never more than a few in a second; what comes back for a question that
// is no longer the one is dropped. The last answer stays to be looked at until the next is there.

import { redraw } from "./dom.js";

const PAUSE_MS = 180;
// The gateway takes 60 frames in a second from a client, and the rest of the page needs some, too.
const APART_MS = 250;

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export class LiveAnswer {
  constructor(fetch, answered = () => {}) {
    this._fetch = fetch;
    this._answered = answered;
    this._timer = 0;
    this._sentAt = -APART_MS;
    this._busy = false;
    this.forget();
  }

  // `asked` and `value` are of the last answer; `error` is that of the question now.
  forget() {
    clearTimeout(this._timer);
    this._wanted = null;
    this.asked = null;
    this.value = null;
    this.error = null;
  }

  get isWaiting() {
    return this._wanted !== null && !this.error && !isSame(this._wanted, this.asked);
  }

  want(asked) {
    if (isSame(asked, this._wanted)) return;
    this._wanted = asked;
    this.error = null;
    this._askIn(PAUSE_MS);
  }

  // The same question once more: something it depends on has changed.
  again() {
    if (this._wanted === null) return;
    this.error = null;
    this._askIn(0);
  }

  _askIn(pause) {
    clearTimeout(this._timer);
    // While one is under way, the next waits for its end.
    if (this._busy) this._again = true;
    // Not the time of day, which can be set back by an hour.
    else this._timer = setTimeout(() => this._ask(), Math.max(pause, this._sentAt + APART_MS - performance.now()));
  }

  async _ask() {
    const asked = this._wanted;
    if (asked === null) return;
    this._busy = true;
    this._again = false;
    this._sentAt = performance.now();
    const [value, error] = await this._fetch(asked).then((found) => [found, null], (trouble) => [null, trouble]);
    this._busy = false;
    if (isSame(asked, this._wanted)) this._take(asked, value, error);
    if (this._again) this._askIn(0);
    redraw();
  }

  _take(asked, value, error) {
    this.error = error;
    if (error) return;
    this.asked = asked;
    this.value = value;
    this._answered(asked, value);
  }
}
