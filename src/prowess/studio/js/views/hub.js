// Hub: the registry that this gateway takes skills from. Search, the versions of a skill with what the
// scanner said, what changes between two of them, which agents use which; reviews, promoting and yanking.

import { agentName, comesLater, follow, gateway, want } from "../app.js";
import { focusDrawn, h, redraw } from "../dom.js";
import { LiveAnswer } from "../live_answer.js";
import { Button, Chip, Choice, Command, Dialog, Empty, Failed, GatewayBand, Loaded, PageHead, Skeleton, Tag } from "../parts/basics.js";
import { PlainDiff } from "../parts/diff.js";
import { Icon } from "../parts/icon.js";
import { WindowedList } from "../parts/list.js";
import { go, place, viewLink } from "../place.js";
import { Resource } from "../resource.js";
import { complain, toast } from "../toasts.js";
import { ago, count } from "../words.js";

// A hub may be far away.
const SLOW = { timeout: 60_000 };
const list = new WindowedList({ rowHeight: 52 });
const found = new LiveAnswer(({ query }) => gateway.request("hub.search", { query }, SLOW));
const one = new Resource((asked) => gateway.request("hub.skill", asked, SLOW));
const reviews = new Resource(() => gateway.request("hub.reviews", {}, SLOW));
const difference = new Resource((asked) => gateway.request("hub.compare", asked, SLOW));
const query = () => (place.query.q ?? "").trim();
const addressOf = ({ namespace, name }) => `${namespace}/${name}`;
const rows = () => found.value?.skills ?? [];
const awaited = () => reviews.value?.pending ?? [];
// What a person is asked about: {act, version}, and what they typed.
let asking = null;
let typed = "";
let isBusy = false;

const STATES = { published: null, pending: ["needs", "Waits for review"], rejected: ["slate", "Rejected"], yanked: ["danger", "Yanked"] };
const VERDICTS = { clean: "ready", warn: "needs", quarantine: "danger", error: "danger" };

function Row(skill, attributes) {
  const address = addressOf(skill);
  return h("div", { ...attributes, class: ["row", place.query.skill === address && "row-chosen"], "data-hub": address, onclick: (event) => event.target.closest("a") || go({ skill: address, before: null, after: null }) },
    h("div", { class: "row-words" },
      h("p", { class: "row-name" }, h("a", { href: viewLink("hub", { q: place.query.q, skill: address }) }, address), h(Tag, null, skill.version),
        skill.deprecated && h(Chip, { tone: "needs", title: skill.deprecated }, "Deprecated"), skill.looksLikeAnother && h(Chip, { tone: "danger", title: "Its name looks like that of an older skill" }, "Looks like another")),
      h("p", { class: "row-about" }, skill.summary)));
}

function List() {
  if (found.error) return h(Failed, { error: found.error, doing: "The hub could not be asked.", retry: () => found.again() });
  if (!found.value) return comesLater("hub") ? h("p", { class: "later", role: "status" }, h(Icon, { name: "clock" }), comesLater("hub")) : h(Skeleton, { rows: 6 });
  if (!found.value.hub) return h(Empty, { title: "This gateway has no hub.", command: "prowess hub serve" }, "Start one, or name one in PROWESS_HUB_URL, with a token in PROWESS_REGISTRY_TOKEN, where the gateway is started.");
  if (!rows().length) return h(Empty, { title: query() ? "The hub has nothing that fits." : "Nothing is published yet.", action: query() && h(Button, { onclick: () => go({ q: null }) }, "Show what is new"), command: query() ? "" : "prowess publish" });
  return list.view({ items: rows(), keyOf: addressOf, row: Row, label: query() ? "What the hub found" : "What changed last in the hub" });
}

// What waits has no row of its own until it is published.
function Awaited() {
  if (reviews.state === "failed") return h(Failed, { error: reviews.error, doing: "The hub does not say what waits for a review.", retry: () => reviews.reload() });
  if (!awaited().length) return null;
  return h("section", { class: "section hub-awaited", "aria-labelledby": "hub-awaited" }, h("h2", { id: "hub-awaited" }, `${count(awaited().length, "version waits", "versions wait")} for your review`),
    h("ul", { class: "plain" }, awaited().map((one) => h("li", { key: `${addressOf(one)} ${one.version}`, class: "line" }, h("a", { href: viewLink("hub", { skill: addressOf(one) }) }, `${addressOf(one)} ${one.version}`), h("span", { class: "meta" }, `by ${one.publisher} · ${ago(one.publishedAt)}`)))));
}

function Version({ version, labels, users, isAwaited }) {
  const state = STATES[version.state];
  const verdict = version.scan.verdict;
  return h("li", { class: "shared-skill", key: version.version, "data-version": version.version },
    h("div", { class: "line" }, h("h4", null, version.version), labels.map((label) => h(Chip, { key: label, tone: "accent" }, label)), state && h(Chip, { tone: state[0], title: version.reason ?? "" }, state[1])),
    h("dl", { class: "facts" },
      h("dt", null, "Published"), h("dd", null, `${ago(version.publishedAt)} by ${version.publisher}`, version.reviewer && `, reviewed by ${version.reviewer}`),
      h("dt", null, "Signer"), h("dd", { class: "break" }, version.provenance.signer || h("span", { class: "muted" }, "nobody signed it")),
      h("dt", null, "Scanner"), h("dd", null, verdict && h(Chip, { tone: VERDICTS[verdict] ?? "needs" }, verdict), " ", version.scan.rules.length ? version.scan.rules.map((rule) => h("code", { key: rule, class: "break" }, rule, " ")) : h("span", { class: "muted" }, "no findings")),
      version.changelog && [h("dt", null, "Change"), h("dd", { class: "break" }, version.changelog)],
      version.reason && [h("dt", null, "Reason"), h("dd", { class: "break" }, version.reason)],
      h("dt", null, "Used by"), h("dd", null, users.length ? users.map(({ agentId, pinned }, at) => [at > 0 && ", ", h("a", { key: agentId, href: `/library?settingsAgentId=${encodeURIComponent(agentId)}&report=installed` }, agentName(agentId)), pinned && " (pinned)"]) : h("span", { class: "muted" }, "no agent of this gateway"))),
    isAwaited && h("div", { class: "line" },
      h(Button, { kind: "primary", "aria-label": `Approve ${version.version}`, onclick: () => ask("approve", version) }, "Approve…"),
      h(Button, { "aria-label": `Reject ${version.version}`, onclick: () => ask("reject", version) }, "Reject…")),
    version.state === "published" && h("div", { class: "line" },
      h(Button, { "aria-label": `Promote ${version.version}`, onclick: () => ask("promote", version) }, "Promote…"),
      h(Button, { kind: "quiet", "aria-label": `Yank ${version.version}`, onclick: () => ask("yank", version) }, "Yank…")));
}

function ask(act, { version }) {
  asking = { act, version };
  typed = act === "promote" ? "stable" : "";
}

// Without a choice, the newest against the one before it; the first one against nothing.
function Compare({ address, versions }) {
  if (!versions.length) return null;
  const numbers = versions.map(({ version }) => version);
  const chosen = (key, usual) => (numbers.includes(place.query[key]) ? place.query[key] : usual);
  const [before, after] = [chosen("before", numbers[1]), chosen("after", numbers[0])];
  want(difference, { address, after, ...(before && { before }) });
  const pick = (key, value, label) => h(Choice, { label, value, options: numbers.map((number) => [number, `${label} ${number}`]), onchange: (number) => go({ [key]: number }, { replace: true }) });
  const rulesOf = (number) => versions.find(({ version }) => version === number)?.scan.rules ?? [];
  const fresh = rulesOf(after).filter((rule) => !rulesOf(before).includes(rule));
  const gone = rulesOf(before).filter((rule) => !rulesOf(after).includes(rule));
  const marked = (rules, tone, word) => rules.map((rule) => h("li", { key: `${word} ${rule}` }, h(Chip, { tone }, word), " ", h("code", null, rule)));
  return h("section", { class: "section" }, h("h3", null, before ? "What changed" : `What ${after} says`),
    before && h("div", { class: "choices" }, pick("before", before, "From"), pick("after", after, "to")),
    fresh.length + gone.length > 0 && h("ul", { class: "plain", "aria-label": "What the scanner says" }, marked(fresh, "needs", "new"), marked(gone, "ready", "gone")),
    h(Loaded, { of: difference, doing: "The versions could not be compared.", rows: 3, later: comesLater("hub"), describe: (value) => (value.difference
      ? [h(PlainDiff, { lines: value.difference.replace(/\n$/, "").split("\n"), label: before ? `What changes from ${before} to ${after}` : `What ${after} says` }), !value.whole && h("p", { class: "note note-needs" }, "There is more than this page shows.")]
      : h("p", { class: "muted" }, "No line differs.")) }));
}

function Page({ value }) {
  const { skill, versions, users } = value;
  const address = addressOf(skill);
  const labelsOf = (number) => Object.entries(skill.labels).filter(([, at]) => at === number).map(([label]) => label);
  return h("article", { class: "skill-page library-page" },
    h("header", null, h("h2", { class: "skill-title break", tabindex: -1 }, address), h("p", { class: "skill-about break" }, skill.summary),
      h("p", { class: "muted" }, `Taken ${count(skill.downloads, "time")}. Used by ${count(new Set(users.map(({ agentId }) => agentId)).size, "agent")} of this gateway.`),
      skill.deprecated && h("p", { class: "note note-needs break" }, "Deprecated: ", skill.deprecated), h(Command, { text: `prowess add hub:${address} --to agent` })),
    h(Compare, { address, versions }),
    h("section", { class: "section" }, h("h3", null, "Versions"), versions.length ? h("ul", { class: "shared-skills" }, versions.map((version) => h(Version, { version, labels: labelsOf(version.version), users: users.filter((user) => user.version === version.version), isAwaited: awaited().some((one) => addressOf(one) === address && one.version === version.version) }))) : h("p", { class: "muted" }, "None that you may see.")));
}

const QUESTIONS = {
  approve: { title: "Approve", label: "Why (kept with it, optional)", about: "It is published: everybody who may see the namespace finds it, and it becomes the latest one if its number is the highest.", kind: "primary", done: "approved", isOptional: true },
  reject: { title: "Reject", label: "Why (its publisher reads it)", about: "It is not published. The same number cannot come again with other files.", kind: "danger", done: "rejected" },
  promote: { title: "Promote", label: "Label", about: "Whoever follows this label gets this version with the next update.", kind: "primary", done: "promoted" },
  yank: { title: "Yank", label: "Why", about: "Nobody finds this version any more, and its labels are taken away. Who asks for exactly this number still gets it. This cannot be undone.", kind: "danger", done: "yanked" },
};

const close = () => { asking = null; };

async function carryOut(event) {
  event.preventDefault();
  const { act, version } = asking;
  const address = place.query.skill;
  isBusy = true;
  redraw();
  try {
    const said = typed.trim();
    if (act === "promote") await gateway.request("hub.label", { address, label: said, version }, SLOW);
    else if (act === "yank") await gateway.request("hub.yank", { address, version, reason: said }, SLOW);
    else await gateway.request("hub.review", { address, version, approve: act === "approve", reason: said }, SLOW);
    toast(act === "promote" ? `${said} of ${address} is ${version} now.` : `${address} ${version} is ${QUESTIONS[act].done}.`);
    if (["approve", "reject"].includes(act)) found.again();
    close();
  } catch (error) {
    complain(error, `${address} ${version} was not ${QUESTIONS[act].done}.`);
  } finally {
    isBusy = false;
    one.reload();
    reviews.reload();
    redraw();
  }
}

function Asking() {
  if (!asking) return null;
  const { title, label, about, kind, isOptional } = QUESTIONS[asking.act];
  const words = `${title} ${place.query.skill} ${asking.version}`;
  return h(Dialog, { key: "asking", label: words, onclose: close },
    h("form", { class: "stack", onsubmit: carryOut }, h("h2", null, words), h("p", { class: "muted" }, about),
      h("div", { class: "field" }, h("label", { for: "hub-typed" }, label), h("input", { id: "hub-typed", class: "input", value: typed, autocomplete: "off", autofocus: true, maxlength: 200, oninput: (event) => { typed = event.currentTarget.value; } })),
      h("div", { class: "dialog-actions" }, h(Button, { onclick: close }, "Cancel"), h(Button, { kind, type: "submit", busy: isBusy, disabled: !isOptional && !typed.trim() }, asking.act === "promote" ? `Let ${typed.trim() || "…"} be ${asking.version}` : `${title} ${asking.version}`))));
}

const leave = () => go({ skill: null, before: null, after: null });

function search() {
  const asked = { query: query() };
  if (gateway.state === "live" && JSON.stringify(found.asked) !== JSON.stringify(asked)) found.want(asked);
}

function describe() {
  search();
  const { skill } = place.query;
  want(reviews, {});
  if (skill) want(one, { address: skill });
  const about = found.value?.hub ? `${found.value.hub} · what was published for everybody. ${query() ? `${count(rows().length, "skill")} found.` : "What changed last comes first."}` : "Skills that were published for everybody, on every gateway.";
  const hasNone = found.value && !found.value.hub;
  return [!hasNone && h(GatewayBand, { words: "Approving, promoting and yanking concern everybody who uses this hub, on every gateway." }),
    h(PageHead, { title: "Hub", scope: about }),
    h("div", { class: ["split", skill && "split-chosen"] }, h("div", { class: "split-list" }, h(Awaited), h(List)),
      h("section", { class: "split-detail", key: skill ?? "none", tabindex: -1, "aria-label": skill ? `About ${skill}` : "No skill chosen" },
        skill ? [h("button", { class: "button quiet split-back", onclick: leave }, h(Icon, { name: "back" }), "All of the hub"), h(Loaded, { of: one, doing: "The hub does not give this skill.", rows: 5, later: comesLater("hub"), describe: (value) => h(Page, { value }) })]
          : rows().length > 0 && h("div", { class: "empty" }, h("p", null, "Choose a skill to see its versions, what the scanner said, and who uses it.")))),
    h(Asking)];
}

function move(step) {
  const at = rows().findIndex((skill) => addressOf(skill) === place.query.skill);
  const next = rows()[Math.min(rows().length - 1, Math.max(0, at + step))];
  if (!next) return;
  go({ skill: addressOf(next), before: null, after: null }, { replace: true });
  list.reveal(rows().indexOf(next));
}

const keys = () => ({ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: () => focusDrawn(".split-detail h2"), Escape: () => (place.query.skill ? leave() : go({ q: null }, { replace: true })) });

follow("connected", () => {
  found.forget();
  one.reload();
  reviews.reload();
});

export const hub = { label: "Hub", search: "Search the hub", describe, keys };
