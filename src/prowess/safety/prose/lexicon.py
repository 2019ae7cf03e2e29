"""Words by which a text hides or lies, and the words with which honest texts speak of that."""

from prowess.safety.prose.lexicon_forms import each, gerund, plain

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
