// The studio's line to the gateway: requests with answers, events, and a connection that comes
// back by itself. A request that was under way when the line broke is refused, never sent twice:
// whoever asked decides. Only so many are open at a time, so that a page that asks for much is not
// taken for a flood.

const PROTOCOL = { minProtocol: 3, maxProtocol: 4 };
const ANSWER_MS = 30_000;
const SHORTEST_MS = 400;
const LONGEST_MS = 8_000;
const TOKEN_KEY = "prowess.token";
// The gateway takes 32 open requests and 60 frames a second from a client.
const MOST_OPEN = 16;
const MOST_A_SECOND = 40;
// How long a gateway may take to say hello.
const HELLO_MS = 12_000;
// So many ticks may be missed before the line counts as dead: a laptop that slept gets no goodbye.
const MISSED_TICKS = 2.5;

export class GatewayError extends Error {
  constructor(code, message, details) {
    super(message);
    this.code = code;
    this.details = details ?? {};
  }

  // It was sent, and the line broke before an answer came.
  get isUnknown() {
    return this.code === "LOST" && Boolean(this.details.sent);
  }

  get isStale() {
    return /config changed since last load|re-run config\.get/i.test(this.message);
  }
}

// State is one of: connecting, live, lost (trying again), denied (a token is needed).
export class Gateway {
  constructor(changed) {
    this.state = "connecting";
    this.hello = null;
    this.problem = "";
    this.retryAt = 0;
    this._changed = changed;
    this._waiting = new Map();
    this._queue = [];
    this._sentAt = [];
    this._watch = 0;
    this._heard = new Map();
    this._next = 1;
    this._pause = SHORTEST_MS;
    this._socket = null;
    this._timer = 0;
    this._token = takeToken();
  }

  get version() {
    return this.hello?.server?.version ?? "";
  }

  start() {
    this._open();
    // A laptop that wakes up, or a network that is back, need not wait for the next try.
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => document.hidden || this.retry());
  }

  retry() {
    if (this.state !== "lost") return;
    this._pause = SHORTEST_MS;
    this._open();
  }

  useToken(token) {
    this._token = token.trim();
    this._open();
  }

  on(event, heard) {
    this._heard.set(event, [...(this._heard.get(event) ?? []), heard]);
  }

  request(method, params = {}, { timeout = ANSWER_MS } = {}) {
    if (this.state !== "live") return Promise.reject(unsentError());
    return new Promise((resolve, reject) => {
      this._queue.push({ method, params, timeout, resolve, reject });
      this._sendNext();
    });
  }

  // Sends what waits, as far as the gateway would take it now.
  _sendNext() {
    clearTimeout(this._pacing);
    const now = performance.now();
    this._sentAt = this._sentAt.filter((at) => now - at < 1_000);
    while (this._queue.length && this._waiting.size < MOST_OPEN && this._sentAt.length < MOST_A_SECOND) {
      const { method, params, timeout, resolve, reject } = this._queue.shift();
      this._sentAt.push(now);
      this._send(method, params, timeout).then(resolve, reject);
    }
    if (this._queue.length && this._waiting.size < MOST_OPEN) this._pacing = setTimeout(() => this._sendNext(), 1_000 - (now - this._sentAt[0]));
  }

  _send(method, params, timeout) {
    const id = String(this._next++);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this._waiting.delete(id);
        this._sendNext();
        const seconds = Math.round(timeout / 1000);
        reject(new GatewayError("TIMEOUT", `The gateway did not answer within ${seconds} seconds.`));
      }, timeout);
      this._waiting.set(id, { resolve, reject, timer });
      this._socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  _open() {
    clearTimeout(this._timer);
    this._socket?.close();
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/ws`);
    this._socket = socket;
    socket.onmessage = (message) => socket === this._socket && this._receive(message.data);
    socket.onclose = () => socket === this._socket && this._closed();
    this._watchFor(HELLO_MS, "The gateway takes connections but does not answer.");
  }

  // Who is silent for so long counts as gone, also where the network never said so.
  _watchFor(ms, problem) {
    clearTimeout(this._watch);
    const socket = this._socket;
    this._watch = setTimeout(() => {
      if (socket !== this._socket) return;
      this.problem = problem;
      this._socket = null;
      socket.close();
      this._closed();
    }, ms);
  }

  _receive(frame) {
    let value;
    try {
      value = JSON.parse(frame);
    } catch {
      this._socket.close();
      return;
    }
    if (this.state === "live") this._watchFor(this._silence, "");
    if (value.type === "res") this._answer(value);
    else if (value.event === "connect.challenge") this._greet();
    else if (value.type === "event") for (const heard of this._heard.get(value.event) ?? []) heard(value.payload ?? {});
  }

  _answer({ id, ok, payload, error }) {
    const asked = this._waiting.get(id);
    if (!asked) return;
    this._waiting.delete(id);
    clearTimeout(asked.timer);
    this._sendNext();
    if (ok) asked.resolve(payload);
    // A failed install has both: what went wrong, and all that it printed.
    else asked.reject(Object.assign(new GatewayError(error?.code ?? "UNAVAILABLE", error?.message ?? "The request failed.", error?.details), { payload }));
  }

  async _greet() {
    const client = { id: "prowess-studio", version: "1", platform: "web", mode: "ui" };
    const auth = this._token ? { auth: { token: this._token } } : {};
    const scopes = ["operator.read", "operator.write", "operator.admin"];
    try {
      this.hello = await this._send("connect", { ...PROTOCOL, client, role: "operator", scopes, ...auth }, ANSWER_MS);
    } catch (error) {
      this._refused(error);
      return;
    }
    this._pause = SHORTEST_MS;
    if (this._token) keepToken(this._token);
    this._silence = MISSED_TICKS * (this.hello.policy?.tickIntervalMs ?? 30_000);
    this._watchFor(this._silence, "");
    this._become("live", "");
  }

  _refused(error) {
    if (error.code === "LOST") return;
    clearTimeout(this._watch);
    if (/^(AUTH|DEVICE_AUTH)_/.test(error.details.code ?? "") && error.code !== "RATE_LIMITED") {
      keepToken("");
      this._become("denied", this._token ? "That token was not accepted." : "");
      this._token = "";
    } else this._become(this.state, error.message);
    this._socket?.close();
  }

  _closed() {
    clearTimeout(this._watch);
    for (const { reject, timer } of this._waiting.values()) {
      clearTimeout(timer);
      reject(lostError());
    }
    this._waiting.clear();
    for (const { reject } of this._queue.splice(0)) reject(unsentError());
    if (this.state === "denied") return;
    this.retryAt = Date.now() + this._pause;
    this._timer = setTimeout(() => this._open(), this._pause);
    this._pause = Math.min(LONGEST_MS, this._pause * 1.8);
    this._become("lost", this.problem);
  }

  _become(state, problem) {
    this.state = state;
    this.problem = problem;
    this._changed(state);
  }
}

// Nobody can know whether the gateway did what was asked when the line broke.
const lostError = () => new GatewayError("LOST", "The connection to the gateway broke before it answered: whether it was done shows once the line is back.", { sent: true });
const unsentError = () => new GatewayError("LOST", "The connection to the gateway is lost; nothing was changed by this page.");

// A browser may refuse storage: then the token is asked for again after a reload.
function keepToken(token) {
  try {
    if (token) sessionStorage.setItem(TOKEN_KEY, token);
    else sessionStorage.removeItem(TOKEN_KEY);
  } catch {
    // It is known to this page all the same.
  }
}

function keptToken() {
  try {
    return sessionStorage.getItem(TOKEN_KEY) ?? "";
  } catch {
    return "";
  }
}

// A link may carry the token behind `#`, which browsers send to nobody; it leaves the address bar.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return keptToken();
  history.replaceState(null, "", location.pathname + location.search);
  return given;
}
