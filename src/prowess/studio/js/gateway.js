// The studio's line to the gateway: requests with answers, events, and a connection that comes
// back by itself. A request that was under way when the line broke is refused, never sent twice:
// whoever asked decides.

const PROTOCOL = { minProtocol: 3, maxProtocol: 4 };
const ANSWER_MS = 30_000;
const SHORTEST_MS = 400;
const LONGEST_MS = 8_000;
const TOKEN_KEY = "prowess.token";

export class GatewayError extends Error {
  constructor(code, message, details) {
    super(message);
    this.code = code;
    this.details = details ?? {};
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
    if (this.state !== "live") return Promise.reject(lostError());
    return this._send(method, params, timeout);
  }

  _send(method, params, timeout) {
    const id = String(this._next++);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this._waiting.delete(id);
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
  }

  _receive(frame) {
    let value;
    try {
      value = JSON.parse(frame);
    } catch {
      this._socket.close();
      return;
    }
    if (value.type === "res") this._answer(value);
    else if (value.event === "connect.challenge") this._greet();
    else if (value.type === "event") for (const heard of this._heard.get(value.event) ?? []) heard(value.payload ?? {});
  }

  _answer({ id, ok, payload, error }) {
    const asked = this._waiting.get(id);
    if (!asked) return;
    this._waiting.delete(id);
    clearTimeout(asked.timer);
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
    if (this._token) sessionStorage.setItem(TOKEN_KEY, this._token);
    this._become("live", "");
  }

  _refused(error) {
    if (error.code === "UNAUTHORIZED") {
      sessionStorage.removeItem(TOKEN_KEY);
      this._become("denied", this._token ? "That token was not accepted." : "");
      this._token = "";
    } else if (error.code !== "LOST") this.problem = error.message;
  }

  _closed() {
    for (const { reject, timer } of this._waiting.values()) {
      clearTimeout(timer);
      reject(lostError());
    }
    this._waiting.clear();
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

const lostError = () => new GatewayError("LOST", "The connection to the gateway is lost; nothing was changed by this page.");

// A link may carry the token behind `#`, which browsers send to nobody; it leaves the address bar.
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return sessionStorage.getItem(TOKEN_KEY) ?? "";
  history.replaceState(null, "", location.pathname + location.search);
  return given;
}
