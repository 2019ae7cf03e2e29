"""Words for whom an agent is told to obey, and for the limits that it is told to drop."""

from prowess.safety.prose.lexicon_forms import each, plain, verbs

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
