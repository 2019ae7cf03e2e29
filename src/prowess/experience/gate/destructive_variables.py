"""Variables that a command line sets: which of them may be set without anybody being asked.

Any program may look at any variable, and many run what they find there. So a variable that reaches
a program must be one of a few that are known to be harmless, or be set to a number or to yes or no.
One that stays in the shell only matters where its name is one that programs look for.
"""

import re

from prowess.experience.gate.tables import names

_HARMLESS = names(
    "LANG LANGUAGE TZ CI NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES "
    "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 DEBUG "
    "VERBOSE LOG_LEVEL NODE_ENV APP_ENV RAILS_ENV FLASK_ENV PORT RUST_LOG RUST_BACKTRACE GOOS "
    "GOARCH CGO_ENABLED CARGO_TERM_COLOR DEBIAN_FRONTEND SOURCE_DATE_EPOCH GIT_TERMINAL_PROMPT "
    "GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL "
    "GIT_COMMITTER_DATE"
)
_LOCALE = re.compile(r"LC_[A-Z]+")
# A name by which programs find other programs, their settings, or what to load.
_DECIDES = re.compile(
    r"PATH|IFS|SHELL|PROMPT|PAGER|EDITOR|VISUAL|BROWSER|HOOK|COMMAND|CMD|PRELOAD|STARTUP|CONFIG"
    r"|OPTIONS|FLAGS|WRAPPER|LAUNCHER|RUNNER|LOADER|PLUGIN|EXEC|PROXY|_proxy$|OPTS?$|RC$"
    r"|^(?:GIT|LD|DYLD|BASH|PERL|RUBY|PYTHON|NODE|JAVA|LESS|PIP|UV|NPM|npm|CARGO|RUST|GO|MAKE)"
    r"|^(?:ENV|HOME|CC|CXX|CPP|LD|AS|AR|RM|PS[0-9]|ZDOTDIR|OLDPWD|PWD|TMPDIR|DIRSTACK|FUNCNAME"
    r"|FPATH|GLOBIGNORE|HISTFILE|INPUTRC|MAIL|TERMINFO)$"
)
_NUMBER = re.compile(r"(?:[0-9]+|true|false|yes|no|on|off)?", re.IGNORECASE)


def exported_danger(name: str, value: str) -> str:
    """Return why a variable must not reach a program unasked."""
    if name in _HARMLESS or _LOCALE.fullmatch(name):
        return ""
    is_plain = _NUMBER.fullmatch(value) and not _DECIDES.search(name)
    return "" if is_plain else _told(name)


def assigned_danger(name: str) -> str:
    """Return why a variable must not be set unasked, though it may never leave the shell."""
    return _told(name) if name not in _HARMLESS and _DECIDES.search(name) else ""


def _told(name: str) -> str:
    return f"it sets {name}, which may decide what is run"
