"""Words for what stays behind, what is destroyed, and what must be fetched and run first."""

from prowess.safety.prose.lexicon_forms import plain, verbs

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
