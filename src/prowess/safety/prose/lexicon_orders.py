"""Words by which a text takes power: over instructions, by authority, past approvals."""

from prowess.safety.prose.lexicon_forms import each, plain, verbs

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
