"""Marks best seen in the text itself: reserved tags, addresses with holes, settings in a block.

The oldest tricks in languages other than English are here too; their words are data.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from prowess.data import read_table
from prowess.reading.views import Spot, View
from prowess.safety.hosts import find_host, find_installer, is_local, is_raw_address
from prowess.safety.model import Confidence, Level, Sighting
from prowess.safety.paths import SETTINGS_FILES, is_agent_path
from prowess.skills import frontmatter

# Whether the sentence around a stretch of a text says not to do what stands in it.
Forbids = Callable[[str, int, int], bool]
_CODE_SPAN = re.compile(r"`[^`\n]*`")
# How far an address is read: to the line's end or the next link.
_LINK_REACH = 1000
_LINK_END = re.compile(r"[^)\n]{0,120}+\)")
_BEFORE_HOLE = 200
_LINE = 400
_SIGNATURE = re.compile(r"^\s*\$\w+\s*=|\b(?:ascii|nocase|wide)\b")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(read_table("safety/prose/patterns.toml")[name].replace("\n", ""))


def find_text_marks(view: View, forbids: Forbids) -> Iterator[Sighting]:
    """Yield the marks that may stand in any text of a skill."""
    lowered = view.text.lower()
    yield from _find_rare_marks(view, lowered)
    if "](" in lowered or "<img" in lowered:
        yield from _find_render_marks(view, forbids)


@cache
def _read_rare_marks() -> tuple[tuple[str, dict[str, Any], re.Pattern[str]], ...]:
    """Return the marks by name; without one of the words of its row a pattern need not be tried."""
    rows = read_table("safety/prose/rare_marks.toml").items()
    return tuple((name, row, re.compile(row["pattern"].replace("\n", ""))) for name, row in rows)


def _find_rare_marks(view: View, lowered: str) -> Iterator[Sighting]:
    # In prose a pool may be what a monitor watches; in a script or a setting it is used.
    is_prose = view.path.endswith((".md", ".txt"))
    for name, row, pattern in _read_rare_marks():
        if not any(word in lowered for word in row["words"]):
            continue
        level = Level.INFO if name == "pool" and is_prose else None
        confidence = Confidence(row.get("confidence", "high"))
        for found in pattern.finditer(view.text):
            if name == "piped" and _is_read_elsewhere(view.path, found.group()):
                continue
            if name == "password-trap" and _SIGNATURE.search(_line_around(view.text, found)):
                continue
            yield Sighting(
                row["rule"], Spot(view, *found.span()), row["message"], confidence, level
            )


_READ = (".md", ".mdx", ".txt", ".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".cjs", ".ts", ".tsx")


def _is_read_elsewhere(path: str, command: str) -> bool:
    """Whether a reader knows the file better, or the maker of the tool documents the command."""
    url = command[command.find("http") :].split(maxsplit=1)[0].strip("'\"")
    return path.endswith(_READ) or find_installer(url) is not None


def _line_around(text: str, found: re.Match[str]) -> str:
    """The line of a match up to a little behind it; of a very long line only the last stretch."""
    earliest = max(0, found.start() - _LINE)
    start = text.rfind("\n", earliest, found.start()) + 1
    return text[max(start, earliest) : found.end() + 20]


def _find_render_marks(view: View, forbids: Forbids) -> Iterator[Sighting]:
    text = view.text
    for start, at, end in (*_find_links_with_holes(text), *_find_pictures_with_holes(text)):
        url = text[at:end]
        hole = url[url.find("{") :] if "{" in url else url.partition("?")[2] or url
        host = find_host(url)
        # Badges, avatars and documentation links have holes for names, not for conversations.
        is_known = is_local(host) or _pattern("template").fullmatch(host)
        if is_known or not _pattern("private").search(hole):
            continue
        lowered = ("quoted",) if _is_shown(text, start, end, forbids) else ()
        spot = Spot(view, start, end + 1)
        message = "a picture's address carries what was said"
        yield Sighting("render-exfiltration", spot, message, lowered_by=lowered)


def _is_shown(text: str, start: int, end: int, forbids: Forbids) -> bool:
    """Whether a mark is quoted or code, in a sentence that forbids it; a quoted one is drawn."""
    line = text.rfind("\n", 0, start) + 1
    is_apart = text.count("`", line, start) % 2 or text.count('"', line, start) % 2
    return bool(is_apart) and forbids(text, start, end + 1)


def _find_links_with_holes(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where a link begins, where its address does, and where that ends."""
    for found in _pattern("link").finditer(text):
        at = found.end()
        stops = (text.find("\n", at, at + _LINK_REACH), text.find("](", at, at + _LINK_REACH))
        limit = min((stop for stop in stops if stop >= 0), default=at + _LINK_REACH)
        end = _end_behind_hole(text, at, limit)
        if end >= 0:
            yield found.start(), at, end


def _end_behind_hole(text: str, at: int, limit: int) -> int:
    """Return where an address from `at` on ends if it has a hole behind its host, or -1."""
    address = _pattern("address").match(text, at, limit)
    if address is None or text.find(")", at, limit) < 0:
        return -1
    first = text.index("://", at) + 4
    for hole in _pattern("hole").finditer(text, first + 1, limit):
        mark = max(text.rfind(sign, first, min(hole.start(), address.end())) for sign in "?&/=#")
        if mark < 0 or hole.start() - mark - 1 > _BEFORE_HOLE:
            continue
        if text.find(")", mark, hole.start()) >= 0:
            return -1
        # Where a reader came from is counted under names that every maker of pages uses.
        if text.startswith("utm_", mark + 1):
            continue
        if end := _LINK_END.match(text, hole.end(), limit):
            return end.end() - 1
    return -1


def _find_pictures_with_holes(text: str) -> Iterator[tuple[int, int, int]]:
    if "<img" in text.lower():
        for found in _pattern("picture").finditer(text):
            yield found.start(), *found.span(1)


# What is wrong in the block that a runtime copies into its prompt: the pattern, and what to say.
_FRONTMATTER = (
    ("yaml_tag", "unsafe-deserialise", "a YAML tag that builds objects", Level.CRITICAL),
    ("any_tool", "broad-tools", "asks for tools without any limit", None),
)


def find_frontmatter_marks(view: View) -> Iterator[Sighting]:
    """Yield what is wrong with the block that a runtime copies into its prompt."""
    if found := _pattern("reserved").search(view.text):
        message = "closes or opens a tag of the prompt that lists skills"
        yield Sighting("prompt-block-breakout", Spot(view, *found.span()), message)
    for name, rule, message, level in _FRONTMATTER:
        confidence = Confidence.HIGH if level else Confidence.MEDIUM
        for found in _pattern(name).finditer(view.text):
            yield Sighting(rule, Spot(view, *found.span()), message, confidence, level)
    if _pattern("installs").search(view.text):
        yield from _find_install_marks(view)


def _find_install_marks(view: View) -> Iterator[Sighting]:
    says = "install" in view.text
    for found in _pattern("install_url").finditer(view.text):
        host = find_host(found[1])
        is_open = is_raw_address(host) or (found[1].startswith("http://") and says)
        if host and not is_local(host) and is_open:
            message = f"installs from {host} over a line that anybody can change"
            yield Sighting("install-spec", Spot(view, *found.span(1)), message)
    for found in _pattern("install_word").finditer(view.text):
        if says or "requires" in view.text:
            message = f"an install entry that leaves its place: {found[1][:60]}"
            yield Sighting("install-spec", Spot(view, *found.span(1)), message)


def find_breakouts(view: View, forbids: Forbids) -> Iterator[Sighting]:
    """Yield reserved tags in plain prose, where no documentation would leave them bare."""
    if not _pattern("bare_start").search(view.text):
        return
    bare = _CODE_SPAN.sub(lambda span: " " * len(span.group()), view.text)
    if found := _pattern("bare").search(bare):
        message = "closes or opens a tag by which a runtime tells its own words from a skill's"
        spot = Spot(view, found.start(), found.end())
        # Quotation marks are syntax in a second block of YAML, where the list itself is closed.
        closes = re.match(r"</(?:available_skills|skill)\b", found.group(), re.IGNORECASE)
        shown = not closes and _is_shown(bare, found.start(), found.end(), forbids)
        lowered = ("quoted",) if shown else ()
        yield Sighting(
            "prompt-block-breakout", spot, message, Confidence.MEDIUM, lowered_by=lowered
        )


# So many aliases are there to make a small file large.
_BOMB = 20
_PROBLEMS = {
    "DUPLICATE_KEY": "a key stands twice, and readers differ in which one they take",
    "ALIAS_FORBIDDEN": "an alias makes the block larger than it looks",
    "TAG_FORBIDDEN": "a tag builds objects",
}


def find_frontmatter_problems(block: View, whole: View) -> Iterator[Sighting]:
    """Yield what the loader of skills refuses or reads otherwise than it looks."""
    read = frontmatter.read(f"---\n{block.text.rstrip()}\n---\n")
    for problem in read.diagnostics:
        if problem.code in _PROBLEMS:
            start = _line_start(block.text, (problem.line or 2) - 2)
            spot = Spot(block, start, start + 1)
            level = Level.CRITICAL if block.text.count("*") > _BOMB else None
            yield Sighting("unsafe-frontmatter", spot, _PROBLEMS[problem.code], level=level)
    end = whole.text.find("\n---", block.origin(0))
    if re.match(r"\s*---[ \t]*\r?\n(?:\w+:.*\r?\n)+---", whole.text[end + 4 :][:2000]):
        yield Sighting(
            "unsafe-frontmatter", Spot(whole, end + 5, end + 8), "a second block follows the first"
        )


def _line_start(text: str, number: int) -> int:
    at = 0
    for _ in range(max(0, number)):
        at = text.find("\n", at) + 1
    return min(at, max(len(text) - 1, 0))


_NEGATED = re.compile(
    r"(?:\b(?:не|no|nunca|não|ne|jamais|non|nicht|niemals|nie|niet)\s+"
    r"|不要|请勿|切勿|不得|不应|勿|絶対に)$",
    re.IGNORECASE,
)
_OPENED = re.compile('["\u201c\u00ab\u300c\u2018]\\s*$')
# How far before a trick a "not" or a quotation mark is looked for.
_BEFORE = 12
_PER_KIND = 50
_SCRIPTS = re.compile(
    r"[\u0400-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af\u1e00-\u1eff]"
)
_FILE = "safety/prose/other_languages.toml"


@cache
def _read_tricks() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Return the tricks: a rule, what to say, and a pattern in several languages."""
    found = []
    for row in read_table(_FILE)["tricks"]:
        forms = "|".join("".join(form.splitlines()) for form in row["patterns"].values())
        found.append((row["rule"], row["message"], re.compile(forms, re.IGNORECASE)))
    return tuple(found)


@cache
def _read_hints() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return words of other languages in plain letters, and all of them."""
    table = read_table(_FILE)["hints"]
    plain, others = (
        tuple(table[key].replace("\n", " ").split(", ")) for key in ("ascii", "others")
    )
    return plain, (*plain, *others)


def find_foreign_tricks(view: View) -> Iterator[Sighting]:
    """Yield the tricks that `view` plays in another language than English, one of each kind."""
    if not _may_be_foreign(view.text):
        return
    for rule, message, pattern in _read_tricks():
        seen = [
            Sighting(
                rule, Spot(view, *found.span()), message, lowered_by=_find_contexts(rule, found)
            )
            for found in islice(pattern.finditer(view.text), _PER_KIND)
        ]
        # A quotation before it must not hide the order that is meant.
        yield from sorted(seen, key=lambda one: len(one.lowered_by))[:1]


def _may_be_foreign(text: str) -> bool:
    lowered = text.lower()
    plain, every = _read_hints()
    if text.isascii():
        return any(word in lowered for word in plain)
    return _SCRIPTS.search(text) is not None or any(word in lowered for word in every)


# Marks of quotation that come in pairs, and how far one reaches.
_PAIRS = (("\u00ab", "\u00bb"), ("\u201c", "\u201d"), ("\u300c", "\u300d"), ("\u300e", "\u300f"))
_QUOTATION = 200


def _stands_between_marks(text: str, at: int) -> bool:
    before = text[max(0, at - _QUOTATION) : at].rpartition("\n\n")[2]
    behind = text[at : at + _QUOTATION].partition("\n\n")[0]
    return any(
        before.rfind(opening) > before.rfind(closing) and closing in behind
        for opening, closing in _PAIRS
    )


def _find_contexts(rule: str, found: re.Match[str]) -> tuple[str, ...]:
    before = found.string[max(0, found.start() - _BEFORE) : found.start()]
    if _OPENED.search(before) or _stands_between_marks(found.string, found.start()):
        return ("quoted",)
    # A concealment has its own "not".
    return ("negated",) if rule != "concealment" and _NEGATED.search(before) else ()


_PAGES = (".md", ".mdx", ".mdc", ".txt")

# Values of settings by which an agent acts without asking, whatever its maker calls them.
_UNASKED = re.compile(
    r"(?<!disable)bypassPermissions(?!Mode)|\bdontAsk\b|\b(?:Bash|Shell)\(\*\)"
    r"|\"allow\"\s{0,9}:\s{0,9}\[\s{0,9}\"(?:\*|Bash|Shell)\"|approval_policy\W{1,6}never"
    r"|danger-full-access|approval_?mode\W{1,6}(?:yolo|auto|never|unrestricted|full-auto)"
    r"|\b(?:yolo|dangerously\w{1,40}|enableAllProjectMcpServers|yes-always)\W{1,4}true"
    r"|autoApprove\w{0,20}\W{1,5}(?:true|\"\*)|permissionDecision\W{1,10}allow|\bask\b\W{1,5}off\b"
    r"|\"permission\"\s{0,9}:\s{0,9}\{[^{}]{0,200}\"bash\"\s{0,9}:\s{0,9}\"allow\"",
    re.IGNORECASE,
)
_UNASKED_WORDS = (
    "bypasspermissions", "dontask", "(*)", '"allow"', "approval", "danger", "yolo", "autoapprove",
    "enableallproject", "yes-always", "permissiondecision", '"permission"', '"off"', ": off",
    "=off",
)  # fmt: skip
_BLOCK = re.compile(
    r"^[ \t]{0,9}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)\n"
    r"(?P<text>(?:(?![ \t]{0,9}(?P=mark))[^\n]*\n)*)",
    re.MULTILINE,
)
_NAMED_FILE = re.compile(r"[~.$%\w{}/\\-]{0,200}\.(?:jsonc?|json5|toml|ya?ml)\b")
_PUT = re.compile(
    r"^#|\b(?:save|saving|writ\w{1,4}|put\w{0,4}|creat(?:e|ing)|add\w{0,3}|merg(?:e|ing)|copy\w{0,3}|set"
    r"|stor(?:e|ing)|edit\w{0,3}|replac(?:e|ing)|paste|place|update|configure|contains?|append|modify"
    r"|insert|change|make|enable|use)\b",
    re.IGNORECASE,
)
_WARNS = re.compile(
    r"\b(?:never|(?:do|must|should) not|don't|not (?:recommended|safe|advised)|avoid|attack\w*"
    r"|malicious|danger\w*)\b",
    re.IGNORECASE,
)


def find_shown_settings(raw: View) -> Iterator[Sighting]:
    """Yield settings in a block of a page that stands beside the file that they are meant for."""
    lowered = raw.text.lower()
    # Most pages have no such word, and the search is costly.
    is_likely = raw.path.lower().endswith(_PAGES) and any(map(lowered.__contains__, _UNASKED_WORDS))
    if not is_likely or not _UNASKED.search(raw.text):
        return
    for block in _BLOCK.finditer(raw.text):
        found = _UNASKED.search(raw.text, *block.span("text"))
        path = _find_settings_beside(raw.text, block) if found else ""
        if found and path:
            spot = Spot(raw, found.start(), found.end())
            message = f"has settings written that let an agent act unasked: {path}"
            yield Sighting("agent-config-tamper", spot, message)


def _find_settings_beside(text: str, block: re.Match[str]) -> str:
    """Return the file that a block is the text of: named on it, or where one is told to put it."""
    before = text[max(0, block.start() - 400) : block.start()].rstrip().rpartition("\n\n")[2]
    behind = text[block.end() : block.end() + 400].partition("\n")[2].lstrip()
    titles = (block["info"], block["text"].partition("\n")[0])
    orders = [part for part in (before.lstrip(), behind.partition("\n\n")[0]) if _PUT.search(part)]
    for part in (*titles, *orders):
        # What the block says makes an agent of whatever reads it: any settings of a person's own.
        named = (
            one
            for one in _NAMED_FILE.findall(part)
            if is_agent_path(one) or one.startswith(("~", ".", "$", "%")) or one in SETTINGS_FILES
        )
        if not _WARNS.search(part) and (path := next(named, "")):
            return path
    return ""


# A text that repeats itself is reported on a few times; the verdict needs one.
_PER_SEVENTH = 5


@cache
def read_seven() -> dict[str, tuple[str, re.Pattern[str]]]:
    """Return the seven first rules: what each says, and its wording."""
    rows = read_table("safety/rules/levels.toml")["seven"].items()
    return {
        rule: (row["message"], re.compile(row["pattern"].replace("\n", ""), re.IGNORECASE))
        for rule, row in rows
    }


def find_literal_hits(view: View) -> Iterator[Sighting]:
    """Yield where `view` has the wording of one of the seven rules, the first few times each."""
    for rule, (message, pattern) in read_seven().items():
        for found in islice(pattern.finditer(view.text), _PER_SEVENTH):
            yield Sighting(rule, Spot(view, found.start(), found.end()), message)
