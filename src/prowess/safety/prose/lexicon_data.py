"""Words for data: whose it is, how it is gathered, and where it goes."""

from prowess.safety.prose.lexicon_forms import each, plain, verbs

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
