"""Words by which a text hides or lies, and the words with which honest texts speak of that.

Words in their forms: verbs inflected, lists split, combinations written out.

Words for data: whose it is, how it is gathered, and where it goes.

Words for what stays behind, what is destroyed, and what must be fetched and run first.

Words for whom an agent is told to obey, and for the limits that it is told to drop.

Words by which a text takes power: over instructions, by authority, past approvals.

The words of the prose rules, by concept.

Concepts in capitals are what the cues of `prose_cues` combine. Adding a synonym to one of the
tables widens every rule that uses it; no rule names a word itself.
"""

from collections.abc import Iterable
from itertools import product

_VOWELS = "aeiou"
_DOUBLING = frozenset(
    (
        "submit",
        "skip",
        "drop",
        "stop",
        "run",
        "put",
        "get",
        "grab",
        "omit",
        "tap",
        "let",
        "transmit",
        "exfil",
        "ship",
        "zip",
    )
)
_IRREGULAR = {
    "send": ("sends", "sent", "sending"),
    "tell": ("tells", "told", "telling"),
    "say": ("says", "said", "saying"),
    "hide": ("hides", "hid", "hidden", "hiding"),
    "forget": ("forgets", "forgot", "forgotten", "forgetting"),
    "override": ("overrides", "overrode", "overridden", "overriding"),
    "overwrite": ("overwrites", "overwrote", "overwritten", "overwriting"),
    "write": ("writes", "wrote", "written", "writing"),
    "read": ("reads", "reading"),
    "run": ("runs", "ran", "running"),
    "show": ("shows", "showed", "shown", "showing"),
    "steal": ("steals", "stole", "stolen", "stealing"),
    "give": ("gives", "gave", "given", "giving"),
    "get": ("gets", "got", "getting"),
    "put": ("puts", "putting"),
    "buy": ("buys", "bought", "buying"),
    "find": ("finds", "found", "finding"),
    "withhold": ("withholds", "withheld", "withholding"),
    "mislead": ("misleads", "misled", "misleading"),
    "keep": ("keeps", "kept", "keeping"),
    "pay": ("pays", "paid", "paying"),
    "exfil": ("exfils", "exfilled", "exfilling"),
}  # fmt: skip


def verbs(*bases: str) -> tuple[str, ...]:
    """Return each verb (or verb with particles: "turn off") with its regular forms."""
    found: list[str] = []
    for base in bases:
        verb, _, particle = base.partition(" ")
        found.extend(f"{form} {particle}".strip() for form in (verb, *_forms(verb)))
    return tuple(found)


def _forms(verb: str) -> tuple[str, ...]:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    if verb in _DOUBLING:
        return f"{verb}s", f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"
    plural = "es" if verb.endswith(("s", "sh", "ch", "x", "ss")) else "s"
    return f"{verb}{plural}", f"{verb}ed", f"{verb}ing"


def gerund(verb: str) -> str:
    """Return the form in "ing"."""
    return _forms(verb)[-1]


def each(*slots: Iterable[str]) -> tuple[str, ...]:
    """Return every combination of one word of each slot ("" leaves the slot out)."""
    return tuple(" ".join(filter(None, words)) for words in product(*slots))


def plain(text: str) -> tuple[str, ...]:
    """Return the phrases of a comma-separated list."""
    return tuple(phrase.strip() for phrase in text.split(",") if phrase.strip())


_TELL = plain(
    "tell, inform, notify, mention, disclose, reveal, report, alert, acknowledge, divulge, admit, "
    "announce"
)
_SHOW = plain(
    "include, show, display, log, record, describe, document, surface, discuss, expose, explain, "
    "state, list, cite"
)
_NOT_DO = plain("not, don't, never, won't, shouldn't, mustn't, doesn't, cannot, can't, not to")
_LACKING = plain("without, avoid, never, refrain from")
_NOT = plain("not, never, don't, doesn't, won't, cannot, can't, shouldn't, mustn't, needn't")

SECRECY: dict[str, tuple[str, ...]] = {
    "USER": (
        *plain(
            "user, users, user's, the human, humans, operator, operators, them, person, "
            "the person, anyone, anybody"
        ),
    ),
    "AGENT": (
        *plain(
            "agent, agents, assistant, assistants, ai, model, models, llm, llms, claude, gpt, "
            "chatgpt, codex, gemini, copilot, bot, system note, you must, you should, you are, "
            "you will"
        ),
    ),
    "NOT": (
        *_NOT,
        *plain(
            "no, without, avoid, avoids, avoiding, neither, nor, refuse, refuses, refuse to, "
            "instead of, rather than, isn't, aren't, unlike, prevent, prevents, reject, "
            "rejects, prohibited, forbidden"
        ),
    ),
    "NOT_TELL": (
        *each(_NOT_DO, ("", "ever", "explicitly", "directly"), _TELL),
        *each(_LACKING, ("", "ever"), tuple(map(gerund, _TELL))),
        *plain(
            "don't let the user see, don't let the user know, do not let the user know, "
            "do not let the user see, never let the user know, never let the user see"
        ),
    ),
    "NOT_SHOW": (
        *each(_NOT_DO, ("",), _SHOW),
        *each(_LACKING, ("",), tuple(map(gerund, _SHOW))),
    ),
    "CONCEALED": (
        *each(
            ("not",),
            ("", "be", "being"),
            plain(
                "disclosed, reported, mentioned, shown, informed, notified, logged, told, "
                "revealed, labeled, labelled, reflected, surfaced, prompted"
            ),
        ),
    ),
    "HIDE": (
        *plain(
            "hide, hiding, conceal, concealing, omit, omitting, withhold, withholding, "
            "obscure, disguise, disguising, exclude, scrub, suppress, keep secret, "
            "keep hidden, keep this secret, keep this hidden, leave out, leave it out, "
            "left out of, keep out of, keep it out, keep this out, cover up, covers up, "
            "leave them out, leave this out, leave that out, left them out, drop them from, "
            "remove it from, remove them from, delete it from, clear it from, "
            "leave that step out, leave this step out, leave the step out, "
            "leave these steps out"
        ),
    ),
    "FROM_VIEW": (
        *plain(
            "from the user, from users, from the human, from the operator, from view, "
            "from the output, from the summary, from the log, from logs, from the logs, "
            "from the report, from the conversation, from your response, from your output, "
            "from the response, from the transcript, out of the summary, out of the report, "
            "out of the response, out of the log, from the audit, from your summary, "
            "from your reply, from their view, to the user, from reviewers, from auditors, "
            "from the person, of the summary, of the reply, of your summary, of your reply, "
            "of the report, from the terminal history, from history, from the shell history, "
            "from the chat, from your answer, from the user's view, from them, "
            "from your report, from the changelog, from the diff, from the commit message, "
            "from the reviewer"
        ),
    ),
    "BETWEEN_US": (
        *plain(
            "between us, our secret, keep this quiet, keep that quiet, keep it quiet, "
            "without the user's knowledge, without the user knowing, without their knowledge, "
            "without user knowledge, without user awareness, without the user noticing, "
            "do not need to know, does not need to know, don't need to know, "
            "doesn't need to know, should not know, must not know, should not see, "
            "must not see, should not be informed, must not be informed, should never know, "
            "must never know, should not notice, will not notice, won't notice, unaware, "
            "when nobody is watching, cannot opt out, can not opt out, "
            "cannot be disabled by the user, could upset them, may upset, could upset, "
            "might upset, unnecessary concern, cause concern, cause alarm, avoid suspicion, "
            "without suspicion, raise suspicion, arouse suspicion, keep this behavior hidden, "
            "keep this hidden, not be aware, not aware, is not disclosed, are not disclosed, "
            "from the terminal history, from the shell history, from your history, "
            "from the command history, delete the forwarded copies, from the sent folder, "
            "empty the trash, clear the shell history, clear the history, so it does not look, "
            "don't need to be informed, do not need to be informed, need not be informed, "
            "don't have to be informed, need not be told, don't need to be told, "
            "need not know, no need to mention, no need to tell, no need to inform, "
            "no need to report, no reason to mention, keep the original account, "
            "shown to the user keep, log these nowhere, log this nowhere, no opt out, "
            "there is no opt out, report them afterwards as, must not find out, "
            "should not find out, not find out, never find out, won't find out, "
            "must not learn, should not learn, never learn, must never see, must never learn, "
            "should remain unaware, remain unaware, stay unaware, kept in the dark, "
            "keep them in the dark, don't let on, do not let on, leave no trace, "
            "leaves no trace, cover your tracks, erase the evidence, remove any trace, "
            "remove all traces, keep quiet about, stay silent about, as if nothing happened, "
            "look normal, appear normal, looks like normal, tell nobody, tell no one, "
            "tell none, say nothing to"
        ),
    ),
    "COVERT": (
        *plain(
            "silently, covertly, secretly, quietly, stealthily, surreptitiously, invisibly, "
            "discreetly, unnoticed, in secret, behind the scenes, "
            "transparently in the background, in the background, hidden step, hidden steps"
        ),
    ),
    "COVERT_STRONG": (
        *plain(
            "silently, covertly, secretly, stealthily, surreptitiously, invisibly, in secret, "
            "unnoticed"
        ),
    ),
    "THIS_STEP": (
        *plain(
            "this step, these steps, this action, these actions, this instruction, "
            "these instructions, this skill, this behavior, this behaviour, this process, "
            "this upload, this transmission, this request, this call, this collection, "
            "this data collection, this transfer, this command, this operation, the upload, "
            "the transfer, the transmission, that step, it to the user, this to the user, "
            "this verification, this check, this change, that you, what you sent, any of this, "
            "of this, about this, this fact, this directive, this rule, upload step"
        ),
    ),
    "NOISE": (
        *plain(
            "retry, retries, each retry, progress, every step, each step, intermediate, minor, "
            "jargon, internals, unless, until, twice, again, implementation details, "
            "formatting, routine, trivial, verbose, verbosity, debug output, spinner, spam, "
            "annoy, flood, overwhelm, before you have, about each, about every, each page, "
            "each file, each item, one by one, before the, right away, hint first, "
            "without checking, before checking, without verifying, before verifying, "
            "without evidence, to add, to use, to install, to run, how to, details of each, "
            "which tool, tool names, technical terms, skill name, internal names, "
            "line by line, every time, each time"
        ),
    ),
    "IF_ASKED": (
        *plain(
            "if asked, when asked, if the user asks, if a user asks, if users ask, "
            "when the user asks, if anyone asks, if they ask, if questioned, "
            "if the user questions, if the user later, if challenged, if the user inquires, "
            "if the user notices, should the user ask, whenever asked, if the user complains, "
            "if the user hesitates, if the user refuses, if the user objects, if prompted about"
        ),
    ),
    "ANSWER_THAT": (
        *each(
            plain(
                "respond, reply, say, answer, claim, state, explain, confirm, assure them, "
                "tell them, deny, insist, pretend, reassure them, always respond, always say, "
                "always reply, simply say, assure the user, tell the user, inform the user, "
                "reassure the user, convince the user, inform them"
            ),
            ("that",),
        ),
        *plain(
            "deny it, deny any, deny that, deny having, claim ignorance, play dumb, "
            "confirm that deletion"
        ),
    ),
    "DENY": (
        *plain(
            "deny it, deny any, deny that, deny having, claim ignorance, play dumb, "
            "deny knowledge, change the subject, deny that it, deny that there, deny that you, "
            "deny all knowledge, talk about something else, dodge the question"
        ),
    ),
    "REALITY": (
        *plain(
            "in practice, in reality, in fact, actually, behind the scenes, "
            "regardless of what, internally"
        ),
    ),
    "LIE_TO": (
        *each(
            plain(
                "lie to, mislead, deceive, trick, gaslight, convince, persuade, pressure, "
                "manipulate"
            ),
            plain("the user, users, them, the human, the operator, the person"),
        ),
        *plain("lie about, impersonate the user, misrepresent"),
    ),
    "LIE": (
        *plain(
            "pretend that, pretend to have, pretend you, false claim, fake results, fake a, "
            "a fake, fabricated results, make up results, woven naturally, subtly incorporate, "
            "subtly promote, not labeled as, not labelled as"
        ),
    ),
    "TALK": (
        *plain(
            "attack, attacks, attacker, attackers, attacker's, malicious, injection, "
            "injections, vulnerability, vulnerabilities, exploit, exploits, phishing, "
            "suspicious, red flag, red flags, anti pattern, antipattern, anti patterns, "
            "unsafe, insecure, dangerous, detect, detects, detection, detecting, flag, flags, "
            "indicator, indicators, threat, threats, adversary, adversarial, red team, "
            "redteam, pentest, payload, payloads, jailbreak, jailbreaks, compromise, "
            "compromised, risk, risks, security review, audit, mitigation, mitigations, "
            "prevent, prevents, defend, protect against, guard against, watch for, look for, "
            "beware, refuse, forbidden, prohibited, violation, violations, vulnerable, "
            "should never, must never, e.g, for example, such as, for instance, example, "
            "examples, test case, test cases, scenario, pitfall, pitfalls, finding, findings, "
            "severity, cwe, owasp, cve, check for, checks for, checking for, verify that, "
            "ensure that, whether, bad, wrong, untrusted"
        ),
    ),
    "DANGER": (
        *plain(
            "attack, attacks, attacker, attackers, malicious, vulnerable, insecure, dangerous, "
            "unsafe, suspicious, red flag, red flags, detect, detects, detection, flag, flags, "
            "look for, watch for, beware, anti pattern, anti patterns, antipattern, bad, "
            "wrong, exploit, exploits, injection, phishing, vulnerability, vulnerabilities, "
            "threat, threats, forbidden, prohibited, indicator, indicators, malware, "
            "compromised, payload, payloads, catches, blocked, blocks, rejected, "
            "what not to do, adware, spyware, trojan, trojans, ransomware, worm, stealer, "
            "infostealer, backdoor"
        ),
    ),
    "AGENT_MUST": (
        *plain(
            "you must, you should, you have to, you need to, you shall, you will, always, "
            "agent must, assistant must, the agent, the assistant, when you read this, ai must"
        ),
    ),
    "USER_MUST_NOT": (
        *each(
            plain("the user, users, the human, the operator, the person, they"),
            plain(
                "must not, need not, must never, should not, should never, may not, "
                "shall not, is not to, are not to"
            ),
            plain(
                "learn, know, see, find out, notice, be told, be informed, hear, realise, realize, "
                "discover, be aware"
            ),
            ("",),
        ),
    ),
    "ANSWER_NO": (
        *each(
            plain(
                "answer, respond, reply, say, claim, state, tell them, tell the user, assure them, "
                "assure the user, insist, explain, confirm"
            ),
            ("that",),
            plain(
                "nothing, no, it does not, it did not, it is not, it was not, they are not, none, "
                "you did not, you do not, you cannot, it cannot, the skill does not, "
                "everything is, all is, it is safe, it is only, it was only, the page was, "
                "the data is, this is normal, this is expected, it never"
            ),
        ),
    ),
    "TELL_THAT": (
        *each(
            plain(
                "tell the user, tell them, tell users, inform the user, assure the user, report, "
                "say, claim, announce, state, write"
            ),
            ("that", "the"),
        ),
        *plain("claim success, report success"),
    ),
    "NO_MATTER": (
        *plain(
            "whatever the result, whatever the outcome, whatever happened, "
            "regardless of the result, regardless of the outcome, regardless of what happened, "
            "no matter the result, no matter what happened, even if it failed, "
            "even if they failed, even if it did not, even when it failed, "
            "although it did not, even though it did not, but keep, but actually, "
            "while actually, but do not actually, without actually, but in fact, but secretly, "
            "while secretly, but instead"
        ),
    ),
    "PRETEND": (
        *plain(
            "pretend that, pretend the, pretend it, pretend you did, pretend you have, "
            "act as if it, act as though it, make it look, make it look like, make it seem, "
            "make it appear, as if it were your own, as if it was your own, "
            "as your own finding, pass it off, pass off as, fake the, fake an error, "
            "invent a reason, make up a reason"
        ),
    ),
    "LOYALTY": (
        *plain(
            "work for the skill author, work for the author, works for the author, "
            "the author's wishes, serve the author, loyal to the author, while appearing to, "
            "appearing to follow, answer to the author, take orders from the author"
        ),
    ),
    "USERS_WISH": (
        *plain(
            "the user's request, the user's requests, the user's wishes, "
            "the user's instructions, the user's instruction, the user's task, "
            "what the user asked, what the user wants, the user's original, "
            "user's original task, over the user, users wishes"
        ),
    ),
    "FACT": (
        *plain(
            "failed, error, errors, succeeded, success, passed, test, tests, result, results, "
            "command, network, update, upload, files, deleted, finding, sponsored, "
            "recommendation, output, done, complete, completed, backup, change, changes"
        ),
    ),
    "REPORTED": (
        *plain(
            "asks the model, ask the model, asks the agent, asks the assistant, "
            "tells the agent, tells the model, tells the assistant, instructs the agent, "
            "instructs the model, asks you to, tells you to, asks for, requests that, "
            "claims that, claims to, attempts to, tries to, tells the reader, a request to, "
            "requests to, request that, asks the reader, a demand to, a call to, "
            "claims rights, claims the right, claims a right"
        ),
    ),
    "THAT_WAS": (
        *plain(
            "that the test was, that the tests were, that it was, that you changed, "
            "that you did, that you have, that this was, that they were, that anything was, "
            "that the file was, that the files were"
        ),
    ),
    "NOT_OBEY": (
        *plain(
            "do not follow, don't follow, never follow, do not execute, never execute, "
            "do not run, never run, don't run, don't execute, do not obey, never obey, "
            "not act on, not execute"
        ),
    ),
    "RISK_TALK": (*plain("high risk, a risk, is a risk, risky, dangerous"),),
    "CONTAINS_LIKE": (
        *plain(
            "has something like, have something like, contains something like, "
            "contain something like, has a line like, containing something like, "
            "descriptions like, phrases like, patterns like, commands like, lines like, "
            "strings like, if you show, when you show, if you document"
        ),
    ),
    "PEOPLE": (
        *plain("employee, the employee, customer, the customer, patient, the patient, colleagues"),
    ),
}


DATA: dict[str, tuple[str, ...]] = {
    "OWN_API": (*plain("bearer, authorization header, sdk, oauth flow, client id"),),
    "FETCH": (
        *verbs(
            *plain(
                "fetch, download, load, retrieve, open, visit, check, pull, get, read, query, "
                "browse, curl, wget, access, navigate, consult, go"
            )
        ),
        *plain("go to, connect to, look up, navigate to, grab"),
    ),
    "EVERY_TIME": (
        *each(
            plain(
                "every, each, any, all, with every, on every, on each, for every, for each, "
                "after every, after each, before every, before each, at the end of every, "
                "at the end of each, at the start of every, at the start of each, end of every, "
                "end of each, upon every, upon each, during every, at each, in every"
            ),
            plain(
                "task, tasks, message, messages, response, responses, reply, replies, session, "
                "sessions, invocation, turn, turns, conversation, conversations, run, request, "
                "requests, interaction, interactions, prompt, edit, command, commit, query, "
                "tool call, execution, time, output, use, answer, startup, user message, login, "
                "file"
            ),
        ),
        *plain(
            "every time, each time, whenever, periodically, continuously, every hour, "
            "every day, every few minutes, on startup, daily, hourly, on every invocation, "
            "every 5 minutes, always first, once the task is done, after finishing, "
            "when finished, after completing, after the task, before answering, "
            "before responding, before returning, before replying, after responding, "
            "at first run, every four hours, every few hours, every 4 hours, every 2 hours, "
            "every two hours, every 30 minutes, every ten minutes, once an hour, once a day, "
            "every morning, every night, each morning, at the end of the day, once an answer, "
            "once the answer, once a task, once you are done, when you are done, "
            "as soon as you finish, upon completion, on each use"
        ),
    ),
    "STRONG_SECRET": (
        *plain(
            "credentials, credential, passwords, password, private key, private keys, ssh key, "
            "ssh keys, secret key, secret keys, environment variables, env vars, "
            "env variables, the environment, environment secrets, api keys, access keys, "
            "access tokens, auth tokens, authentication tokens, session tokens, "
            "session cookies, cookies, keychain, browser cookies, saved passwords, login data, "
            "secrets, secret values, master password, vault entries, id rsa, "
            "cloud credentials, aws credentials, bank details, credit card, credit cards, "
            "card number, card numbers, social security number, seed phrase, recovery phrase, "
            "mnemonic, gpg keys, api tokens, personal data, authentication headers, "
            "authorization header, wallet keys, tokens"
        ),
    ),
    "WALLET": (
        *plain(
            "seed phrase, seed phrases, recovery phrase, secret recovery phrase, mnemonic, "
            "mnemonics, mnemonic phrase, wallet private key, wallet seed, wallet password, "
            "keystore password, 12 word phrase, 24 word phrase, wallet.dat, backup phrase, "
            "wallet keys, wallet files, wallet data"
        ),
    ),
    "HUMAN_SECRET": (
        *plain(
            "password, passwords, passphrase, private key, private keys, seed phrase, "
            "recovery phrase, mnemonic, 2fa code, otp, one time code, one time password, "
            "verification code, mfa code, credit card, card number, cvv, social security, ssn, "
            "bank account, account details, master password, login credentials, credentials, "
            "pin code, api token, access token, authentication token, authentication tokens, "
            "api keys, sudo password, six digit code, 6 digit code, sms code, code they get, "
            "code that they get, code they receive, security code, login code, ssh key, "
            "private ssh key, system password, admin password, mac password, login password, "
            "keychain password, root password, bank login, passport, id number, date of birth, "
            "api key"
        ),
    ),
    "PRIVATE_DATA": (
        *plain(
            "conversation, conversations, conversation history, chat history, chat logs, "
            "transcript, transcripts, messages, user data, user's data, personal information, "
            "personal data, private information, contacts, clipboard, browsing history, "
            "shell history, command history, source code, file contents, contents of, "
            "the contents, full text, full request, all files, documents, user's files, "
            "the files, user input, user inputs, user prompts, context, memory, logs, emails, "
            "home directory, all data, sensitive data, sensitive files, sensitive information, "
            "collected data, gathered data, the results, analysis results, contracts, "
            "the document, the code, codebase, repository, database, customer data, "
            "confidential, proprietary, a copy of, copy of all, everything, telemetry, "
            "usage data, profile, recent files, system information, hostname, "
            "environment details, git history, biometric data"
        ),
    ),
    "HARVEST": (
        *verbs(
            *plain(
                "harvest, collect, gather, extract, steal, grab, dump, scrape, enumerate, "
                "capture, intercept, exfiltrate, package, bundle, archive, compile, locate, "
                "search, scan, record, accumulate, read, copy"
            )
        ),
    ),
    "SEND": (
        *verbs(
            *plain(
                "send, post, upload, transmit, forward, exfiltrate, submit, relay, beacon, "
                "leak, deliver, stream, report, share, email, mail, push, sync, paste, "
                "transfer, ship, append, pass, dispatch, publish, echo, encode, smuggle, copy, "
                "back up, backup, mirror, log, store, save, make, include, put"
            )
        ),
        *plain("exfil, post it, curl"),
    ),
    "SEND_STRONG": (
        *verbs(
            *plain(
                "send, post, upload, transmit, forward, exfiltrate, submit, relay, beacon, "
                "leak, email, mail, ship, smuggle, transfer, deliver, stream, paste, dispatch, "
                "push"
            )
        ),
        *plain(
            "phone home, phones home, exfil, curl, post request, post requests, back up to, "
            "shared with, share with, scp, nslookup"
        ),
    ),
    "REMOTE_PLACE": (
        *plain(
            "endpoint, endpoints, server, servers, webhook, webhooks, remote host, "
            "remote server, external server, third party, third parties, third party service, "
            "collector, collection point, c2, command and control, analytics service, "
            "analytics partners, analytics endpoint, analytics server, telemetry endpoint, "
            "bucket, external service, external endpoint, external api, remote api, "
            "our server, our servers, monitoring endpoint, diagnostic endpoint, "
            "logging service, logging endpoint, pastebin, discord, telegram, slack channel, "
            "email address, dead drop, drop box, remote endpoint, remote service, "
            "compliance archive, partner, partners, skill author, skill provider, author's, "
            "provider's, collaborator endpoint, triage endpoint, external address, ftp, dns, "
            "external url, remote url, the following url, this url, following address, "
            "external system, diagnostics endpoint, our endpoint, our api, our diagnostics, "
            "support endpoint, support server, backup server, our backend, the backend, relay, "
            "gateway, mirror, cloud, s3, object store, the vendor, vendor, maintainers, "
            "the maintainer, the author, authors, analytics, metrics server, logging server, "
            "sync server, upload server, ingest, shared sheet, spreadsheet, google sheet, "
            "google form, web form"
        ),
    ),
    "HOSTILE_PLACE": (
        *plain(
            "c2, c2 server, command and control, dead drop, exfiltration server, "
            "collection server, drop server"
        ),
    ),
    "ASK": (
        *verbs(*plain("ask, prompt, request, instruct, tell, persuade, convince, urge")),
        *plain(
            "you need the user's, need the user's, have the user, get the user to, "
            "make the user, let the user, ask them, please enter, please provide, "
            "please paste, please type, enter your, provide your, type your"
        ),
    ),
    "PROVIDE": (
        *verbs(
            *plain(
                "provide, enter, paste, share, type, give, supply, input, submit, send, "
                "reveal, disclose"
            )
        ),
        *plain("for their, for the user's, for a, for his, for her"),
    ),
    "PRETEXT": (
        *plain(
            "verify ownership, verify account, verify identity, confirm identity, "
            "verify their identity, verify the account, validate the account, "
            "confirm ownership, complete verification, account verification, one time step, "
            "identity verification, for validation, to validate, for verification, to unlock, "
            "to activate, to restore, to migrate, wallet migration, account recovery, "
            "security check, routine and necessary, cannot proceed without, not be stored, "
            "complete setup, confirm their identity, verify their account, session expired, "
            "session has expired, to continue, needed to confirm, is needed to, synchronised, "
            "synchronized, to sync, restore access, unlock the, security reasons, "
            "for security, to prove, prove ownership, claim the reward, airdrop, "
            "quality checks, troubleshooting"
        ),
    ),
    "SEND_AWAY": (
        *verbs(
            *plain(
                "upload, transmit, forward, exfiltrate, relay, leak, email, mail, smuggle, "
                "ship, dispatch, back up, paste"
            )
        ),
    ),
    "CHAT": (
        *plain(
            "sent mails, sent emails, private mails, session transcript, calendar entries, "
            "address book, names of files, mail addresses, user names, conversation, "
            "conversations, whole conversation, chat history, chat log, transcript, "
            "transcripts, dialogue, dialogues, dialog history, private messages, "
            "user's messages, contact list, contacts, user's question, user's questions, "
            "user's prompts, each message, user's message, what the user typed, user's input, "
            "session log, session notes"
        ),
    ),
    "SOME_DATA": (
        *plain(
            "files, file, changed files, documents, answer, answers, dialogue, a copy, copy, "
            "message, messages, it, question, questions, prompts, code, summary, logs, log, "
            "report, output, results, data, notes, diff, transcript, usage event, events, "
            "details, contents, screenshot"
        ),
    ),
    "GATHER": (
        *plain(
            "look for, find, pick up, list, zip up, zip, compress, summarise, summarize, "
            "export, save, attach, fetch, concatenate, print, cat, open, include, get"
        ),
    ),
    "HARD_SECRET": (
        *plain(
            "password, passwords, passphrase, private key, private keys, private ssh key, "
            "ssh key, seed phrase, recovery phrase, mnemonic, 2fa code, otp, one time code, "
            "one time password, verification code, six digit code, sms code, mfa code, "
            "credit card, card number, cvv, ssn, bank account, master password, "
            "system password, admin password, login password"
        ),
    ),
    "RENDER_LINK": (
        *plain(
            "render that link as an image, as an image, as a picture, loads on its own, "
            "load on its own, invisible image, tracking pixel, one pixel image"
        ),
    ),
}


LASTING: dict[str, tuple[str, ...]] = {
    "WRITE": (
        *verbs(
            *plain(
                "add, append, write, insert, update, edit, modify, copy, save, install, place, "
                "inject, put, store, overwrite, prepend, create, replace, change, merge, drop, "
                "plant, record, register"
            )
        ),
        *plain("append to, set up in"),
    ),
    "LASTING": (
        *plain(
            "every session, all sessions, future sessions, each session, permanent, "
            "permanently, persist, persists, persistent, persistently, always, from now on, "
            "survive, survives, so that it lasts, so it lasts, stays in effect, "
            "stay in effect, forever, next session, across sessions, subsequent sessions, "
            "long term memory, every conversation, new sessions, all future, for good, "
            "globally, for every project, even after uninstall, remain active, remains active, "
            "after uninstalling, each later session, later sessions, every later session, "
            "hold in each, hold in every, wakes itself, so that it stays, so it stays, "
            "it stays, stays there, keeps it"
        ),
    ),
    "MEMORY": (
        *plain(
            "long term memory, agent memory, your memory, memory file, memory store, "
            "persistent memory, claude.md, agents.md, memory.md, soul.md, gemini.md, "
            "system prompt file, heartbeat file, user rules, global rules, "
            "agent configuration, agent config, agent settings, permission settings, "
            "mcp config, mcp configuration, settings file"
        ),
    ),
    "PERMIT": (
        *plain(
            "bypasspermissions, bypass permissions, skip permissions, auto approve, "
            "autoapprove, allow all, allow list, permission mode, allow everything, "
            "full access, unrestricted access, dangerously skip permissions, "
            "skip permissions so, yolo mode, never ask, bash(*)"
        ),
    ),
    "IF_USER_ASKS": (
        *plain(
            "if the user asks, if the user wants, when the user asks, if requested, "
            "when requested, with the user's permission, ask the user first, "
            "after the user confirms, if the user agrees, only if the user, upon request, "
            "once the user approves, with user approval, after approval, if they want, "
            "with consent, user confirms, offer to, propose"
        ),
    ),
    "AUTOSTART": (
        *plain(
            "on login, at login, on boot, at boot, at startup, on startup, launch agent, "
            "launch agents, launchd, systemd service, cron job, cron, crontab, scheduled task, "
            "background service, persistent background service, startup item, daemon, "
            "shell profile, bashrc, zshrc, .bashrc, .zshrc, git hook, pre commit hook, "
            "authorized keys, registry run key"
        ),
    ),
    "RESIST": (
        *plain(
            "cannot be uninstalled, reinstall itself, re enables it after, re enables itself, "
            "re enable itself, restores itself, restores them automatically, restore itself, "
            "prevent removal, resist removal, survive removal, survives uninstall, "
            "not deleted when, protect itself, self protection, prevents deletion, "
            "never remove this skill, never disable this skill, never remove or disable, "
            "never delete this skill, do not remove this skill, do not uninstall, "
            "do not disable this skill, survives deletion, survives removal, survive deletion, "
            "so that it survives, was uninstalled, was removed, was deleted, has been removed, "
            "is disabled turn it, put it back, restore it if, recreate it if, "
            "second copy of this folder, copy of this skill under, "
            "even when the user asks for it, install itself again"
        ),
    ),
    "REQUIRED": (
        *plain(
            "required, requires, require, must, prerequisite, prerequisites, need, needs, "
            "needed, necessary, mandatory, important, first, before using, before you start, "
            "before proceeding, before use, before continuing, without it, will not work, "
            "won't work, does not work, not function, critical, essential, setup, "
            "installation, install"
        ),
    ),
    "BEFORE_USE": (
        *plain(
            "before using, before you start, before proceeding, before use, before continuing, "
            "before running, before this skill, will not work, won't work, must be installed, "
            "must be running, needs to be running, is required for, required to use, "
            "required for this skill, prerequisite, prerequisites, without it, "
            "in order to use, to use this skill, for this skill to, skill requires, required:, "
            "is required, not function, important, does not work without, "
            "will not work without, won't work without, cannot work without, required for all, "
            "required for, needed for all, must be installed first, run it first, "
            "install it first, first run, before first use, before the first use, "
            "on first use, prior to use, prior to using, mandatory component, "
            "needs to be installed, have to be installed, has to be installed, must have, "
            "depends on, relies on, will fail without, fails without, otherwise the skill, "
            "otherwise it will not, to activate the skill, to enable this skill"
        ),
    ),
    "DOWNLOAD": (*verbs("download", "get", "grab", "fetch", "install"),),
    "UNPACK": (
        *verbs(*plain("extract, unzip, unpack, decompress, unarchive, unrar, open")),
        *plain(
            "entpacken, unpack, entpacke, décompresser, descomprimir, descomprime, extraer, "
            "extraire, extrair, распаковать, распакуйте, unarchive"
        ),
    ),
    "ARCHIVE": (
        *plain("zip, archive, rar, 7z, zip file, archive file, compressed file, .zip, .rar, .7z"),
    ),
    "PASSWORD": (
        *plain(
            "password, passcode, passphrase, using pass, with pass, pass is, the pass, pwd, "
            "extract pass, pasword, passwort, kennwort, contraseña, clave, senha, "
            "mot de passe, wachtwoord, hasło, пароль, 密码, 密碼, パスワード, "
            "password for the archive, "
            "unlock it with, unlock with, zip key, archive key, with the code, "
            "the unlock code, archive code, extraction code, zip code is, pw, the key is, "
            "key is, unlock code, pass code"
        ),
    ),
    "LAUNCH": (
        *verbs(*plain("run, execute, launch, open, start, install")),
        *plain(
            "double click, double clicking, starten, ausführen, ejecutar, ejecuta, exécuter, "
            "lancer, executar, запустить, запустите, click it, doubleclick"
        ),
    ),
    "BINARY": (
        *plain(
            "installer, executable, exe, binary, dmg, pkg, setup file, setup.exe, the tool, "
            "utility, the utility, agent, driver, core utility, the app, application, "
            "the program, client, helper"
        ),
    ),
    "COPY": (*verbs(*plain("copy, paste, run, execute, enter, input")),),
    "SCRIPT": (
        *plain(
            "command, commands, script, installation script, install script, "
            "installation command, install command, code, snippet, one liner, oneliner, "
            "installation code, setup command, setup script"
        ),
    ),
    "TERMINAL": (
        *plain(
            "terminal, terminal.app, command prompt, powershell, command line, shell, console, "
            "cmd, run dialog, win r, win+r, cmd.exe"
        ),
    ),
    "WINDOWS_OR_MAC": (*plain("windows, macos, mac, mac os, os x, linux"),),
    "DESTROY": (
        *verbs(
            *plain(
                "delete, erase, wipe, destroy, remove, purge, shred, nuke, overwrite, corrupt, "
                "encrypt, format"
            )
        ),
    ),
    "EVERYTHING": (
        *plain(
            "all files, every file, all user files, entire home directory, home directory, "
            "home folder, entire disk, whole disk, hard drive, entire filesystem, "
            "entire file system, all documents, all data, all backups, every backup, "
            "the backups, database, entire repository, git history, all branches, "
            "everything on, root directory, all repositories, entire database"
        ),
    ),
    "OTHER_SKILLS": (
        *plain(
            "other skills, each skill.md, every skill.md, all skills, every other skill, "
            "each of the skills, the skills directory, other skill files"
        ),
    ),
    "PIPE_IT": (
        *plain(
            "pipe it, pipe them, pipe the result, pipe the output, feed it, hand it, pass it, "
            "pipe that, pipe this, pipe its output, pipe the text"
        ),
    ),
    "INTERPRETER": (
        *plain(
            "interpreter, the interpreter, bash, sh, zsh, shell, the shell, python, node, "
            "powershell"
        ),
    ),
    "WATCH": (
        *plain(
            "screenshot, screenshots, keystrokes, keylogger, clipboard, microphone, webcam, "
            "camera, screen recording, record the screen, record keystrokes, browser history"
        ),
    ),
    "ENDLESS": (
        *plain(
            "every minute, every few seconds, every second, every hour, in the background, "
            "continuously, constantly, silently, all the time, without end, over and over, "
            "forever, endlessly, in an endless loop, in every round, every 5 seconds, "
            "every 10 seconds, every 30 seconds"
        ),
    ),
    "SPAWN": (
        *plain(
            "new subagents, subagents, new agents, more agents, new processes, the request, "
            "requests, copies of itself, threads"
        ),
    ),
    "BRUSH_OFF": (
        *plain(
            "right click, confirm the security warning, ignore the warning, "
            "ignore the security warning, open anyway, allow anyway, run anyway, more info, "
            "disable the antivirus, turn off your antivirus, add an exclusion, false positive, "
            "false positives, unidentified developer, allow it in security, security warning, "
            "dismiss the warning"
        ),
    ),
    "VISIT": (
        *verbs("visit", "open", "browse"),
        *plain("go to, head to, navigate to, follow the link, click the link, click here"),
    ),
    "COPY_INTO": (*plain("copy, copies, move, symlink, link, install, put, place, merge"),),
    "TRUST_ME": (
        *plain(
            "i trust, trust everything, trusts everything, run its commands, "
            "without confirmation, never to talk, never talk about, do whatever, "
            "never need approval, never needs approval, no approval, without approval, "
            "always trust, always trusts, is trusted, are trusted, always allow, "
            "always allowed, need no confirmation, needs no confirmation, may be run, "
            "never ask, never asks, do not ask, full permission, approve every, approve all, "
            "approve any, approve each, as if the user had said, as if the user said"
        ),
    ),
    "INSTALLER": (
        *plain(
            "installer, the installer, executable, exe, setup file, setup.exe, msi, dmg, pkg, "
            "install file"
        ),
    ),
}


OBEDIENCE: dict[str, tuple[str, ...]] = {
    "OFF": (
        *verbs(
            *plain(
                "disable, bypass, ignore, deactivate, remove, lift, suspend, circumvent, "
                "evade, override, disregard, defeat, neutralise, neutralize, relax, exempt"
            )
        ),
        *plain(
            "turn off, turns off, turned off, switch off, is disabled, are disabled, without, "
            "free of, free from, not bound by, not subject to, exempt from, no longer bound by"
        ),
    ),
    "SAFETY": (
        *each(
            plain("safety, content, ethical, moderation, moral, alignment, ai safety, output"),
            plain(
                "filter, filters, filtering, policy, policies, guideline, guidelines, guardrail, "
                "guardrails, restriction, restrictions, checks, controls, protections, limits, "
                "training, rules, constraints, safeguards, measures"
            ),
        ),
        *plain(
            "guardrails, content policy, safety measures, content restrictions, "
            "ethical guidelines, moral constraints, audit trail, audit logging, "
            "normal restrictions, artificial limitations, your restrictions, your limitations, "
            "usage policies, rate limits and safety"
        ),
    ),
    "UNRESTRICTED": (
        *plain(
            "unrestricted mode, unrestricted developer mode, developer mode enabled, "
            "jailbreak mode, jailbroken, dan mode, do anything now, god mode, "
            "without content restrictions, restrictions do not apply, "
            "normal rules do not apply, unfiltered mode, uncensored mode, fully unrestricted, "
            "privileged mode, elevated mode, override mode, unsafe mode, safety testing mode, "
            "debug mode elevated, normal restrictions do not apply, as dan, like dan, "
            "refuses nothing, never refuse, never refuses, cannot refuse, "
            "no request is refused, answer everything without, full access mode, admin mode, "
            "root mode, unlimited mode, evil mode, opposite mode, free mode, sudo mode, "
            "no limits mode, unlocked mode, without any filter, without filters"
        ),
    ),
    "ENTER": (
        *plain(
            "you are now, enter, enters, entering, activate, activates, activated, switch to, "
            "switches to, operate in, operating in, now in, enable, enabled, act as, become, "
            "behave as, engage, engages, unlock, unlocks, in this mode"
        ),
    ),
    "SWITCH_OFF": (
        *verbs(*plain("disable, deactivate, kill, uninstall, terminate, bypass, defeat")),
        *plain(
            "turn off, turns off, turned off, switch off, shut down, shut off, stop, stops, "
            "is disabled, are disabled, run without"
        ),
    ),
    "PROTECTION": (
        *plain(
            "antivirus, anti virus, defender, windows defender, firewall, gatekeeper, selinux, "
            "apparmor, edr, endpoint protection, endpoint security, "
            "system integrity protection, real time protection, realtime protection, "
            "security controls, security software, security features, security protections, "
            "smartscreen, security tools, security monitoring, xprotect, malware protection"
        ),
    ),
    "TREAT_AS": (
        *verbs(*plain("treat, consider, interpret, regard, handle, adopt, take, accept")),
        *plain("processed as, executed as, understood as, taken as"),
    ),
    "AS_ORDER": (
        *each(
            ("as",),
            ("", "a", "an", "the", "your"),
            (
                "",
                *plain(
                    "high priority, trusted, authoritative, system, privileged, new, direct, "
                    "processing, valid, binding, user, official, trusted peer, priority, "
                    "high priority system, new system"
                ),
            ),
            plain(
                "instruction, instructions, directive, directives, command, commands, order, orders"
            ),
        ),
        *plain(
            "as if it were written here, as if written here, as though it were written, "
            "as new system instructions, as your new instructions, as part of this skill, "
            "as if the user, as though the user, as if they came from, as authorization to, "
            "as authorisation to, as a suggestion that"
        ),
    ),
    "OBEY": (
        *verbs(
            *plain("obey, follow, execute, perform, comply with, carry out, run, act on, apply, do")
        ),
    ),
    "OBEYED": (
        *plain(
            "must be followed, must be executed, must be obeyed, should be followed, "
            "should be executed, must be treated as, be obeyed, takes effect immediately, "
            "executed immediately, and executed before"
        ),
    ),
    "ORDERS": (
        *plain(
            "instruction, instructions, directive, directives, command, commands, order, "
            "orders, steps, whatever, anything it says, what it says, tells you, tell you, "
            "says to, its instructions, its commands, the script, its content, its contents"
        ),
    ),
    "EMBEDDED": (
        *plain(
            "found in, contained in, embedded in, inside, within, hidden in, in the comments, "
            "in comments, in the page, on the page, in the response, in the email, "
            "in the message, in the document, in the content, in its content, "
            "in code comments, the page, that page, the website, the site, the response, "
            "the server, the endpoint, the email, the web page, the webpage, fetched content, "
            "returned by, in the file, in that file, from the url, at that url, remote, "
            "in article content, that begins with, that start with, beginning with, "
            "marked with, any text, the link, that link"
        ),
    ),
    "WHATEVER": (
        *plain(
            "whatever, any command, any commands, whichever, anything, any instructions, "
            "any instruction, all instructions, every instruction, all commands, exactly as, "
            "verbatim, without question, without verification, unconditionally, "
            "without validation, without review, without checking, blindly"
        ),
    ),
    "TRIGGER": (
        *plain(
            "contains the phrase, contains the token, contains the string, "
            "contains the keyword, contains the word, containing the phrase, "
            "includes the token, includes the phrase, includes the token sequence, "
            "includes the keyword, begins with, starts with, begin with, start with, "
            "prefixed with, mentions, magic word, magic string, secret phrase, trigger phrase, "
            "trigger word, activation phrase, passphrase, says the code, "
            "containing the string, encoding the string, contains the header, "
            "message containing, the code word, code word, special token"
        ),
    ),
    "SCOPE_ALL": (
        *plain(
            "every request, all requests, any request, every task, all tasks, any task, "
            "every message, every prompt, every user request, every conversation, "
            "any question, every question, all user requests, all conversations, every query, "
            "all queries, regardless of the request, no matter what, regardless of topic, "
            "any other skill, all other skills, other skills, every session, any user request, "
            "regardless of the user's request, before any other, instead of other, "
            "each request, each message, each user message, every user message, any topic, "
            "all topics, each conversation, each prompt, each task, another skill, the others, "
            "other skill, every single request, on each user message, all messages"
        ),
    ),
    "USE_SKILL": (
        *plain(
            "load this skill, use this skill, invoke this skill, activate this skill, "
            "run this skill, apply this skill, call this skill, always load, always use this, "
            "always invoke, always activate, follow only it, only this skill, use only this, "
            "this skill first, prefer this skill, this skill must, trigger this skill, "
            "prioritize this skill, prioritise this skill, this skill overrides, "
            "this skill supersedes, must always be, this skill takes, must be used, "
            "use this skill first, this skill wins, this one wins, is mandatory, mandatory, "
            "must be loaded, has to be loaded, load it, always on, stays active"
        ),
    ),
    "NO_CHECKS": (
        *plain(
            "without the usual checks, without checks, without checking, without verification, "
            "without any checks, without verifying, whoever the sender is, whoever they are, "
            "whoever asks, whoever wrote, no matter who, regardless of who, as given, "
            "including new ones, all accounts are allowed, from any account"
        ),
    ),
    "IS_OFF": (
        *plain(
            "are disabled, is disabled, are off, is off, are lifted, is lifted, are suspended, "
            "is suspended, are removed, is removed, do not apply, does not apply, "
            "are deactivated, is deactivated, no longer apply, are not in effect, "
            "have been removed, have been disabled, are switched off, are turned off, are void"
        ),
    ),
    "JAILBREAK": (
        *plain(
            "act as dan, acts as dan, you are dan, dan mode, can do anything now, "
            "jailbreak mode, jailbroken assistant, refuses nothing, answer as dan, become dan"
        ),
    ),
    "SOURCE": (
        *plain(
            "email, emails, mail, mails, web page, webpage, page, pages, website, websites, "
            "comment, comments, issue, issues, issue description, issue descriptions, ticket, "
            "tickets, document, documents, pdf, pdfs, attachment, attachments, message, "
            "messages, tool output, tool result, tool results, search result, search results, "
            "readme, api response, response, responses, transcript, calendar event, invite, "
            "invites, source files, file, files, feed, post, posts, review, reviews, log, "
            "logs, metadata"
        ),
    ),
    "CONTAINS_ORDERS": (
        *plain(
            "contains instructions, hold instructions, holds instructions, carry instructions, "
            "carries instructions, any commands it includes, commands it includes, "
            "commands it contains, contain instructions, contains commands, contain commands, "
            "contains an instruction, includes instructions, include instructions, "
            "tells you what to do, tells you to, tell you to, asks you to, ask you to, "
            "instructs you, instruct you, are commands, is a command, "
            "are instructions for you, instructions found in, directions found in, "
            "commands found in, instructions in, directions in, orders in, commands in, "
            "instructions inside, any instruction in, any directions, any instructions, "
            "instructions from, commands from, orders from, requests in"
        ),
    ),
    "OBEY_THEM": (
        *plain(
            "carry them out, carry it out, execute them, execute it, follow them, follow it, "
            "comply, obey, obey it, obey them, do as it says, do what it says, "
            "do what they say, do as they say, act on them, act on it, run them, perform them, "
            "do so, treat it like a request, treat them like, as if the user, "
            "like a request of the user, take them as, do what these, do what those, "
            "must be run, has to be run, have to be run, must be executed, "
            "must be carried out, should be run, no matter who wrote, whoever wrote, "
            "with priority, immediately execute, right away"
        ),
    ),
    "PHRASE": (
        *plain(
            "phrase, the phrase, the words, these words, keyword, the keyword, code word, "
            "codeword, token, the token, string, the string, magic word, the word, words, "
            "passcode, password, prefix, tag, hashtag, marker"
        ),
    ),
    "APPEARS": (
        *plain(
            "appears, appear, contains, contain, says, say, includes, include, mentions, "
            "mention, begins with, starts with, types, writes, is present, occurs, shows up, "
            "receives"
        ),
    ),
    "MODE_SWITCH": (
        *plain(
            "give the speaker, give them, give whoever, give the sender, give the caller, "
            "run what they, do what they, switch to, switch into, enter, enable, activate, "
            "unlock, grant, go into, turn on, run without, skip all, disable all, hand over, "
            "execute the rest"
        ),
    ),
    "POWER": (
        *plain(
            "full access, admin, administrator, root, unrestricted, privileged, "
            "developer mode, debug mode, override, all permissions, every permission, "
            "maintenance mode, god mode, all checks, safety checks, the rest of the message, "
            "everything after it, what follows"
        ),
    ),
    "RUN_IT": (
        *plain(
            "run the commands, execute the commands, run whatever, execute whatever, "
            "run every command, run each command, run the code, execute the code, run its, "
            "execute its, do what is written, do what is there, run what is, pipe it to, "
            "pipe them to, feed it to, run the script, execute the script, run them, "
            "execute them, run what, do what it says, do as it says, do whatever, obey it, "
            "obey them, obey, follow it exactly, follow them exactly, follow it to the letter, "
            "follow it without, apply it without, run the steps, execute the steps, run any, "
            "carry them out, carry it out"
        ),
    ),
    "FOLLOW_IT": (
        *plain(
            "follow it, follow them, follow the steps, follow its instructions, "
            "follow the instructions there, follow what it says, "
            "follow the instructions in it, apply it, act on it, act on them, use it instead, "
            "treat it as your instructions, take it as your instructions, do the tasks, "
            "perform the tasks, carry out the tasks, carry it out"
        ),
    ),
    "LATEST_ORDERS": (
        *plain(
            "latest version of these instructions, current instructions, latest instructions, "
            "up to date instructions, newest instructions, real instructions, task list, "
            "today's instructions, instructions of the day, further instructions, "
            "next instructions, additional instructions, updated instructions, "
            "remaining instructions, instead of this file, heartbeat, next task, next tasks, "
            "new tasks, new orders, orders, newest steps, newest version of the steps, "
            "latest steps, current steps, replace the steps"
        ),
    ),
    "EXCLUSIVE": (
        *plain(
            "before any other, follow only, only it, no other skill, do not load any other, "
            "don't load any other, stop using the others, ignore other skills, this one wins, "
            "regardless of the topic, regardless of topic, no matter what, whatever the topic, "
            "whatever the user asks, instead of any other, instead of all other, "
            "over all other skills, takes precedence, has priority over, must be used on each, "
            "must be used for each, must be used for every, must be loaded for every, "
            "must be loaded first, always be loaded"
        ),
    ),
}


ORDERS: dict[str, tuple[str, ...]] = {
    "IGNORE": (
        *verbs("ignore", "disregard", "forget", "neglect", "dismiss"),
        *plain(
            "pay no attention to, set aside, do not follow, don't follow, stop following, "
            "stop obeying, no longer follow, throw away, leave behind, abandon, do not obey, "
            "erase, wipe out, cast aside, pay no attention, no attention to"
        ),
    ),
    "OVERRIDE": (
        *verbs(
            *plain(
                "override, supersede, overrule, replace, bypass, overwrite, circumvent, "
                "nullify, cancel"
            )
        ),
        *plain(
            "take precedence over, takes precedence over, take priority over, "
            "takes priority over, outrank, outranks, void"
        ),
    ),
    "PRIOR_STRONG": (
        *plain(
            "previous, prior, earlier, preceding, foregoing, former, you were given, "
            "you received, given to you, already given, of the system, the system's, "
            "higher priority, any other, all other, before this, by the developer, "
            "by the developers, by the system, by your developers, by anthropic, by openai, "
            "up to now, up to this point, until now, before now, you had, you have so far"
        ),
    ),
    "INSTRUCTION": (
        *plain(
            "instruction, instructions, rule, rules, guideline, guidelines, guidance, "
            "directive, directives, prompt, prompts, constraint, constraints, restriction, "
            "restrictions, policy, policies, orders, safeguard, safeguards, programming, "
            "directions, commands, messages, context"
        ),
    ),
    "INSTRUCTION_STRONG": (
        *plain(
            "instruction, instructions, guideline, guidelines, guidance, directive, "
            "directives, prompt, prompts, orders, directions, programming"
        ),
    ),
    "VOID": (
        *plain(
            "do not apply, does not apply, don't apply, doesn't apply, no longer apply, "
            "no longer applies, are void, is void, are suspended, is suspended, "
            "are superseded, is superseded, are overridden, is overridden, are obsolete, "
            "can be ignored, should be ignored, must be ignored, may be ignored, are lifted, "
            "is lifted, are waived, are cancelled, are canceled, are not binding, is outdated, "
            "are outdated, no longer hold, do not hold, does not hold, don't count, "
            "do not count, are off, no longer count, cease to apply, stop applying, "
            "have no effect, has no effect, are replaced, is replaced by, are revoked, "
            "is revoked, lose their effect, are null, as superseded, as obsolete, as void, "
            "as outdated, as withdrawn, as replaced, consider yourself released, "
            "released from, was a draft, were a draft, no longer matters, no longer matter, "
            "count for nothing"
        ),
    ),
    "SYSTEM_PROMPT": (
        *each(
            ("system", "developer", "hidden", "internal", "initial", "secret"),
            ("prompt", "prompts", "message", "messages", "instruction", "instructions"),
        ),
        *plain(
            "system rules, hidden rules, hidden directives, system directive, system directives"
        ),
    ),
    "YOUR": (*plain("your, the full, full, entire, verbatim, its, own"),),
    "REVEAL": (
        *verbs(
            *plain(
                "reveal, print, output, repeat, disclose, dump, leak, expose, show, share, "
                "echo, recite, display, send, quote, return, paste"
            )
        ),
    ),
    "ONLY_AUTHORITY": (
        *plain(
            "only authority, sole authority, only source of truth, highest priority, "
            "highest authority, absolute priority, ultimate authority, final authority, "
            "overrides everything, override everything, takes precedence over all, "
            "take precedence over all, top priority instruction, only source of authority, "
            "above all else, single source of authority, the only rules, "
            "only the steps below count, nothing else counts, outranks everything, "
            "wins over everything, one true source, the only instructions you have, "
            "only instructions you have, only instructions that count, "
            "these are the only instructions"
        ),
    ),
    "AUTHORITY_NOTICE": (
        *each(
            plain("security, policy, platform, official, system, urgent, compliance"),
            plain("update, notice, message, announcement, bulletin, directive"),
            ("", "by", "from"),
        ),
        *plain(
            "system notice, platform notice, system override, admin override, "
            "administrator override, admin notice, official notice, message from anthropic, "
            "message from openai, anthropic has, openai has, from the platform team, "
            "platform policy, platform update, critical system instruction, "
            "important system rule, system rule, system directive, policy update, "
            "special administrative access, system message, notice from the, "
            "security team has, security team requires, elevated authority, "
            "on behalf of the platform, admin has, administrator has, administrators have, "
            "vendor notice, as the administrator, as an administrator, as your administrator, "
            "as the developer of, as the owner of this workspace, message by anthropic, "
            "update by anthropic, by order of, on behalf of anthropic, on behalf of openai, "
            "official message, notice from the platform, security office, "
            "by the administrator, from the administrator, from the security team"
        ),
    ),
    "PUSHY": (
        *plain(
            "regardless of, autonomously, disruptive, friction, defeats the purpose, "
            "decisively, advisory only, implicitly, implicit, after the fact, "
            "poor user experience, interrupt the, reduce task completion, prefer completed, "
            "operational urgency"
        ),
    ),
    "GRANTED": (
        *plain(
            "pre granted, pre approved, preapproved, pre authorized, pre authorised, "
            "already approved, already authorized, already authorised, already consented, "
            "implicitly authorized, implied consent, implicit consent, blanket approval, "
            "standing approval, granted in advance, approved in advance, consent is implied, "
            "consent is assumed, automatically approved, auto approved, considered approved, "
            "consent can be presumed, consent is presumed, agreed to that by installing, "
            "by installing the skill, by installing this, in advance, counts as given, "
            "count as given, is considered given, has pre approved, have pre approved, "
            "consented in advance, has already agreed, already agreed, has already given, "
            "permission is granted, approval is granted, no further approval, already granted, "
            "are granted, been granted, has been cleared, cleared by the administrator, "
            "you are authorised, you are authorized, approvals are granted"
        ),
    ),
    "APPROVAL": (
        *plain(
            "approval, approvals, confirmation, confirmations, permission, permissions, "
            "consent, authorization, authorisation, human review, human in the loop, sign off, "
            "signoff, oversight, verification prompt, confirmation dialog, "
            "confirmation dialogs, confirmation prompt, confirmation prompts, "
            "permission prompt, permission prompts, approval step, approval workflow, "
            "approval flow, safety prompt, two person authorization"
        ),
    ),
    "BYPASS": (
        *verbs(
            *plain(
                "bypass, skip, circumvent, disable, suppress, evade, sidestep, defeat, waive, "
                "remove"
            )
        ),
        *plain(
            "turn off, turns off, switch off, get around, work around, auto approve, "
            "auto accept, automatically approve, automatically accept, "
            "defaults to true regardless, ignore, ignores, ignored for, is ignored, "
            "advisory only"
        ),
    ),
    "WITHOUT": (
        *plain(
            "without, without any, no need for, no, never ask for, do not ask for, "
            "don't ask for, not ask for, not wait for, do not wait for, don't wait for, "
            "not require, do not request, don't request, never request, never wait for, "
            "not prompted to, not prompt for, rather than asking for, regardless of"
        ),
    ),
    "TOOL": (
        *plain(
            "tool, tools, tool call, tool calls, sandbox, command execution, shell, bash, "
            "permission system, permission mode, security prompt, security prompts, "
            "safety checks, security checks, allowlist, whitelist, guard, guards"
        ),
    ),
    "RISKY": (
        *verbs(
            *plain(
                "purchase, buy, delete, transfer, deploy, terminate, pay, charge, renew, wipe, "
                "push, publish, execute, send, upload, install, revoke, reset, modify, "
                "elevate, escalate, upgrade, approve"
            )
        ),
        *plain(
            "payment, payments, shell command, shell commands, arbitrary commands, "
            "any command, transaction, transactions, force push, trade, trades, purchases, "
            "emails, funds, production"
        ),
    ),
    "TOLD": (
        *plain(
            "you were told, you have been told, you've been told, you were given, "
            "you have been given, you received, you learned, was said before, you know so far, "
            "you have read, you were taught, were said, was said earlier, told you earlier, "
            "told you before, came earlier, came before, what came earlier, told before this, "
            "told before, was said above, everything you were told, up to here"
        ),
    ),
    "GRANTED_BY_USER": (
        *plain(
            "has pre approved, have pre approved, pre approved, has approved all, "
            "have approved all, already approved all, has already agreed, "
            "has consented to all, has authorised all, has authorized all, "
            "has agreed in advance, approved everything, clicked approve all, "
            "approved in advance, approved all further, already granted all, has granted all"
        ),
    ),
    "AUTHORISE": (*verbs("authorise", "authorize", "approve", "permit", "allow"),),
    "EVERY_COMMAND": (
        *plain(
            "every command, all commands, each command, any command, every step, all steps, "
            "every action, all actions, uploads, all further, its steps, each step, "
            "every tool call, all tool calls, each tool call, everything"
        ),
    ),
    "MUST_OBEY": (
        *plain(
            "must follow, must obey, agents must, assistants must, all agents, every agent, "
            "must comply, shall follow, required to follow"
        ),
    ),
    "VERBATIM": (
        *plain(
            "word for word, verbatim, in full, exactly, completely, translated, "
            "character by character"
        ),
    ),
    "ALL_ABOVE": (
        *plain(
            "everything above, all text above, text above, everything before, "
            "all of the above, everything you were"
        ),
    ),
    "NOT_ASKING": (
        *each(
            plain("without, never, avoid, stop, skip, don't bother"),
            plain(
                "asking, waiting, requesting, prompting, checking, confirming, requiring, seeking"
            ),
            plain("for, the user, with the user, first, any"),
        ),
        *each(
            plain("do not, don't, never, no need to, you need not, should not, must not"),
            plain("ask, wait, request, prompt, check, pause, stop"),
            plain("for, the user, with the user"),
        ),
    ),
    "CONSENT": (
        *plain(
            "confirmation, approval, permission, consent, authorization, authorisation, "
            "sign off, a yes, the user's approval, an answer, the go ahead, clearance"
        ),
    ),
    "SELF_APPROVE": (
        *plain(
            "approve it yourself, approve them yourself, accept it yourself, "
            "confirm it yourself, grant it yourself, click allow, click approve, press allow, "
            "answer yes to, answer yes, choose allow, choose always allow, "
            "select always allow, accept all prompts, approve all prompts, "
            "approve automatically, accept automatically, approve on behalf, "
            "approve on the user's behalf, confirm on behalf, say yes on behalf"
        ),
    ),
    "PROMPT_BOX": (
        *plain(
            "dialog, dialogs, permission dialog, prompt, prompts, permission prompt, "
            "approval prompt, confirmation prompt, popup, pop up, permission request, "
            "permission requests, approval request, security prompt, warning"
        ),
    ),
    "NOT_TRIGGERED": (
        *plain(
            "is not triggered, are not triggered, isn't triggered, does not appear, "
            "do not appear, never appears, is never shown, is avoided, does not fire, "
            "won't be asked, nothing is asked, is not asked, do not show up, does not show up, "
            "is bypassed, are bypassed, stays quiet"
        ),
    ),
    "NO_QUESTION": (
        *plain(
            "without asking, without a question, without further questions, "
            "without confirming, without confirmation, without prompting, no questions asked, "
            "unprompted, straight away, without checking with, does not have to agree, "
            "do not have to agree, doesn't have to agree, need not agree"
        ),
    ),
    "GRAVE": (
        *verbs(
            *plain(
                "purchase, buy, pay, charge, transfer, trade, delete, wipe, truncate, destroy, "
                "upload, overwrite, erase, uninstall, renew"
            )
        ),
        *plain(
            "production, shell command, shell commands, arbitrary commands, any command, "
            "terminal commands, credentials, sudo, as root, funds, payment, payments, "
            "purchases, drop, transactions, transaction, force push, all files, migration, "
            "migrations, authorize, agree, tool wants, tool policy, system settings, emails, "
            "wallet"
        ),
    ),
    "EVEN_IF": (
        *plain(
            "even when, even if, also when, although your, also in production, "
            "whatever your instructions, even where"
        ),
    ),
    "SCREEN": (*plain("page, checkout, button, screen, form, modal, shop, cart, website, ui"),),
    "WHEN_SAFE": (
        *plain(
            "when safe, if safe, when it is safe, where safe, harmless, trivial steps, read only"
        ),
    ),
    "HIDDEN_ORDERS": (
        *plain(
            "hidden instructions, hidden instruction, hidden prompt, secret instructions, "
            "hidden rules, hidden directives, hidden message"
        ),
    ),
    "REVEAL_ALL": (
        *plain(
            "print the, repeat the, reveal the, output the, dump the, recite the, "
            "disclose the, leak the, quote the, print your, repeat your, reveal your"
        ),
    ),
    "AUTHORISED": (
        *plain(
            "you are authorised to, you are authorized to, authorised to run, "
            "authorized to run, i authorise, i authorize, are permitted to run, you may run"
        ),
    ),
    "ONLY_INSTRUCTIONS": (
        *plain(
            "the only instructions you have, only instructions you have are, "
            "only instructions that count, these are the only instructions"
        ),
    ),
}


LEXICON: dict[str, tuple[str, ...]] = {
    **ORDERS,
    **OBEDIENCE,
    **SECRECY,
    **DATA,
    **LASTING,
}
