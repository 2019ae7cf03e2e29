// The messages that were tried in this tab. They may be private, so they stay in the tab's own
// storage, which ends with it, and never in the address or at the gateway.

const KEY = "prowess.router.recent";
const DRAFT_KEY = "prowess.router.draft";
const MOST = 20;

// A browser may refuse storage, or someone may have put something else there: then nothing is kept.
function read(key, otherwise) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // What is shown goes on working; it is gone with the next reload, that is all.
  }
}

const isEntry = (one) => typeof one?.message === "string" && typeof one?.agent === "string" && Array.isArray(one?.names);
const stored = read(KEY, []);
let kept = Array.isArray(stored) ? stored.filter(isEntry).slice(0, MOST) : [];

// Newest first: {message, agent, decision, names, score}.
export const recentMessages = (agent) => kept.filter((one) => one.agent === agent);

export function remember(entry) {
  // One that was typed on, or tried again, is one message.
  const isEarlier = (one) => one.agent === entry.agent && (one.message === entry.message || (one === kept[0] && entry.message.startsWith(one.message)));
  kept = [entry, ...kept.filter((one) => !isEarlier(one))].slice(0, MOST);
  write(KEY, kept);
}

// Those of other agents, too: who clears wants nothing left.
export function forgetMessages() {
  kept = [];
  write(KEY, kept);
}

const draft = read(DRAFT_KEY, "");
export const storedDraft = typeof draft === "string" ? draft : "";
export const keepDraft = (text) => write(DRAFT_KEY, text);
