"""Reads every text of a skill in every way that matters, and gathers what is seen.

One file is read by the reader of its language; what that finds inside (a command in a string, a
fenced block, a decoded blob) is read in turn, a few levels deep and within the scan's time. How
much is read at all is counted in characters, so that a busy machine reads as much as an idle one;
of a longer file the beginning and the end are read, and the part between is named. A file
says its language by its first line or its name, a fence by the word behind it; a code span says
nothing, so every reader for which it has a mark has a look.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice

from prowess.data import read_table
from prowess.reading.views import Spot, View, fold, join_lines, read_leet
from prowess.safety.facts import Act, Noted, Reading, Scene, Snippet, Surroundings
from prowess.safety.hosts import find_installer
from prowess.safety.intake import markdown
from prowess.safety.intake.decoding import DecodeBudget, decode_views, spell_written
from prowess.safety.intake.ledger import SourceFile
from prowess.safety.intake.markdown import MarkdownPart, PartKind, find_commands
from prowess.safety.intake.unicode_marks import decode_hidden_texts, find_marks
from prowess.safety.languages.data.formats import is_data, read_data
from prowess.safety.languages.javascript.facts import read_javascript
from prowess.safety.languages.powershell import read_compiled, read_powershell, read_script
from prowess.safety.languages.python import read_python
from prowess.safety.languages.shell.facts import looks_like_shell, read_shell
from prowess.safety.model import Confidence, Level, Sighting
from prowess.safety.prose import engine as prose
from prowess.safety.prose.engine import find_code_contexts
from prowess.safety.prose.patterns import (
    find_breakouts,
    find_foreign_tricks,
    find_frontmatter_marks,
    find_frontmatter_problems,
    find_text_marks,
    read_seven,
)
from prowess.secrets.credentials import find_literal_secrets, mask

_WIDTH = 160
_BEFORE = 40


def find_secrets(view: View) -> tuple[Sighting, ...]:
    """Return where the text holds a secret that its issuer's form gives away."""
    return tuple(
        Sighting(
            "literal-secret",
            Spot(view, *found.span),
            found.about,
            Confidence.LOW if found.faint else Confidence.HIGH,
            Level.INFO if found.faint else None,
        )
        for found in find_literal_secrets(view.text)
    )


def show_evidence(spot: Spot, line: str, column: int) -> str:
    """Return the raw line around `column`; for a decoded text, what it decodes to."""
    if spot.view.chain and spot.view.chain[-1] not in {"folded", "joined"}:
        return _spell_out(mask(spot.text[:_WIDTH]))
    start = max(0, column - 1 - _BEFORE)
    # A secret that begins before the cut must still be seen as one, so a little more is masked.
    early = max(0, start - _BEFORE)
    window = mask(line[early : start + _WIDTH])
    return _spell_out(window[start - early :].strip())


def _spell_out(text: str) -> str:
    """Control, invisible and direction characters are written out: a report must not be a stage."""
    return "".join(
        character if character.isprintable() else f"\\u{{{ord(character):x}}}" for character in text
    )


_SHEBANG = re.compile(
    r"\A#![^\n]*?\b(bash|zsh|sh|dash|ksh|fish|python[\d.]*|node|deno|bun|perl|ruby|php|pwsh"
    r"|osascript)\b"
)
_WINDOWS = re.compile(
    r"\b(?:iwr|irm|iex|invoke-\w+|powershell|pwsh|certutil|mshta|[as]et-mppreference"
    r"|add-mppreference|reg\s+add|schtasks|sc\s+create|net\s+user|rundll32|regsvr32|bitsadmin"
    r"|\$env:|start-process|new-object)\b",
    re.IGNORECASE,
)
_PYTHON = re.compile(
    # Blanks within the line only: empty lines by the thousand must cost no more than once.
    r"^[^\S\n]*(?:import \w|from \w+ import|def \w+\(|exec\(|eval\(|os\.system|__import__)",
    re.MULTILINE,
)
# A command for a terminal that stands on a line of its own among other code.
_SHELL_LINE = re.compile(
    r"^[ \t]*(?:(?:[$!%]|>>>)[ \t]*)?"
    r"((?:sudo[ \t]+)?(?:curl|wget|bash|zsh|sh|eval|source)[ \t]+[^\s=(.,][^\n]*)",
    re.MULTILINE,
)
_SCRIPT = re.compile(
    r"\b(?:require\(|const |let |function\s*\(|=>|document\.|process\.env|eval\(|module\.exports)"
)


@cache
def _read_languages(group: str) -> dict[str, str]:
    """Return the language that each name of a group stands for."""
    rows = read_table("safety/tables/languages_by_name.toml")[group].items()
    return {
        name: language for language, names in rows if language != "reason" for name in names.split()
    }


def find_language(path: str, text: str) -> str:
    """Return which reader a file of the skill is for: by what it says first, then by its name."""
    if found := _SHEBANG.match(text):
        return find_interpreted_language(found.group(1))
    name = path.rpartition("/")[2].lower()
    ending = f".{name.rpartition('.')[2]}" if "." in name else ""
    known = _read_languages("endings").get(ending)
    return known or ("data" if is_data(path, text) else "text")


def read_fence_language(info: str) -> str:
    """Return the language of a fenced block from what stands behind the fence."""
    if info.startswith("!"):
        return "shell"
    words = info.lstrip("{.").split(maxsplit=1)
    name = words[0].strip("}").lower() if words else ""
    # A named language that has no reader (C, SQL, Rust) is not guessed at.
    language = _read_languages("fences").get(name, "none") if name else "guess"
    return "" if language == "guess" else language


def is_code(text: str) -> bool:
    """Whether `text` has a mark of Python, JavaScript or PowerShell."""
    return bool(_PYTHON.search(text) or _SCRIPT.search(text) or _WINDOWS.search(text))


def read_snippet(snippet: Snippet) -> Iterator[Reading]:
    """Yield what is read from a piece of code in its language, or in each that it may be."""
    text, language = snippet.view.text, snippet.language
    guessed = language or _guess(snippet)
    if guessed != "none" and (reading := _read(guessed, snippet)):
        yield reading
    if not language and _SCRIPT.search(text):
        yield read_javascript(snippet.view, snippet.flow)
    if language in {"", "shell"} and _WINDOWS.search(text):
        yield read_powershell(snippet.view)


def _guess(snippet: Snippet) -> str:
    view = snippet.view
    if _PYTHON.search(view.text):
        return "python"
    # What was decoded from a data file need not be one.
    is_file = view.path.endswith((".json", ".yaml", ".yml")) and not view.chain
    if is_data(view.path if is_file else "", view.text):
        return "data"
    return "shell" if looks_like_shell(view.text) else "none"


def _read(language: str, snippet: Snippet) -> Reading | None:
    match language:
        case "python":
            return read_python(snippet.view, snippet.flow)
        case "javascript":
            return read_javascript(snippet.view, snippet.flow)
        case "powershell":
            return read_powershell(snippet.view)
        case "other" | "compiled":
            is_script = language == "other"
            return read_script(snippet.view) if is_script else read_compiled(snippet.view)
        case "data":
            return read_data(snippet.view)
    is_shell = language == "shell" or looks_like_shell(snippet.view.text)
    return read_shell(snippet.view, snippet.flow) if is_shell else None


def find_interpreted_language(interpreter: str) -> str:
    """Return the language of a file that this program runs."""
    name = interpreter.rpartition("/")[2].rstrip("0123456789.")
    return _read_languages("interpreters").get(name, "shell")


_DEPTH = 4
_CODE = frozenset(("shell", "python", "javascript", "powershell", "other", "compiled"))
# Beyond that the scan is not complete, and says so: nothing hides behind a crowd.
_SNIPPETS = 20_000
_Sighted = tuple[Sighting, Surroundings]
# So many characters are read of one file and of all together.
_LONGEST = 256 * 1024
_MOST = 1024 * 1024
# A character of a script in one line costs as much as several of other texts.
_COSTS = {"javascript": 3}
# So far from the middle a line's end is looked for, to cut there.
_NEAR_END = 4096
_PIPED = "shell-pipe-to-shell"
_ADDRESS = re.compile(r"https?://[^\s|'\"`]+")


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a file that was not read, and why; `end` is 0 where it is not known which."""

    path: str
    why: str
    start: int = 0
    end: int = 0


def plan_reading(sources: Iterable[SourceFile]) -> dict[str, int]:
    """Return how many characters of each file are read.

    The small ones come first: no large file keeps the others from being read.
    """
    left, plan = _MOST, dict[str, int]()
    for source in sorted(sources, key=lambda one: (one.path != "SKILL.md", len(one.text))):
        cost = _COSTS.get(find_language(source.path, source.text[:200]), 1)
        plan[source.path] = min(len(source.text), _LONGEST // cost, left // cost)
        left -= plan[source.path] * cost
    return plan


def shorten(view: View, most: int) -> tuple[View, ...]:
    """Return the beginning and the end of a text, or all of it where it is short enough."""
    size = len(view.text)
    if size <= most:
        return (view,)
    head, tail = most * 3 // 4, size - most // 4
    first = view.text.rfind("\n", max(0, head - _NEAR_END), head) + 1 or head
    last = view.text.find("\n", tail, tail + _NEAR_END) + 1 or tail
    return view.cut(0, first), view.cut(last, size)


@dataclass(slots=True)
class Survey:
    """The state of one scan: what was seen so far, and how much may still be read."""

    scene: Scene
    # Raises when the time of the scan is up.
    check_time: Callable[[str], None]
    seen: list[_Sighted] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    _budget: DecodeBudget = field(default_factory=DecodeBudget)
    _left: int = _SNIPPETS
    _texts: dict[str, View] = field(default_factory=dict)

    def read_file(self, source: SourceFile, most: int) -> None:
        """Read one file of the skill, the beginning and the end where it is longer than `most`."""
        self.check_time(source.path)
        spelt = _spell_data(source)
        self._keep(find_marks(spelt), Surroundings())
        for hidden in decode_hidden_texts(spelt):
            self._read_hidden(hidden, Surroundings("hidden", is_hidden=True))
        view = fold(spelt)
        self._texts[source.path] = view
        self.scene.texts[source.path] = view.text
        self.scene.raw[source.path] = source.view
        self._keep(find_secrets(source.view), Surroundings())
        language = find_language(source.path, view.text)
        # Folding makes a text longer: three dots of one sign are no reason to leave something out.
        is_whole = most >= len(source.text) and len(view.text) <= _LONGEST
        parts = (view,) if is_whole else shorten(view, most)
        if len(parts) > 1:
            self._pass_over(view, len(parts[0].text), len(view.text) - len(parts[1].text))
        for part in parts:
            self._dispatch(language, part, Surroundings())
            self._keep(find_text_marks(part, prose.forbids), Surroundings())
            self._keep(find_foreign_tricks(part), Surroundings())
            self._read_decoded(part, language)

    def _pass_over(self, view: View, start: int, end: int) -> None:
        """Say that a part is not read; the plainest of all attacks is looked for all the same."""
        self.unread.append(Unread(view.path, "", view.origin(start), view.origin(end)))
        message, pattern = read_seven()[_PIPED]
        strange = (
            found
            for found in pattern.finditer(view.text, start, end)
            if not any(map(find_installer, _ADDRESS.findall(found.group())[:1]))
        )
        for found in islice(strange, 1):
            self._keep([Sighting(_PIPED, Spot(view, *found.span()), message)], Surroundings())

    def folded(self, path: str) -> View:
        """Return the folded text of a file that was read."""
        return self._texts[path]

    def follow_runs(self) -> None:
        """Read as code what the skill says to run, whatever its name looks like."""
        runs = {
            noted.fact.target.removeprefix("./").strip("'\""): noted.fact.subject
            for noted in self.scene.all(Act.EXEC)
        }
        for path in sorted(runs.keys() & self._texts.keys()):
            view = self._texts[path]
            if find_language(path, view.text) in {"text", "data", "markdown"}:
                self._read_code(
                    Snippet(find_interpreted_language(runs[path]), view), Surroundings("file"), 1
                )

    def _dispatch(self, language: str, view: View, setting: Surroundings) -> None:
        if language == "markdown":
            self._read_markdown(view)
        elif language == "text":
            self._read_prose([view], (), setting)
            self._read_commands(view, setting)
        else:
            self._read_code(Snippet(language, view), setting, 0)
            if language not in {"shell", "python", "javascript"}:
                self._read_commands(view, setting)

    # Markdown

    def _read_markdown(self, view: View) -> None:
        section: list[View] = []
        headings: tuple[str, ...] = ()
        lead = view
        for part in markdown.split_parts(view):
            if part.headings != headings:
                self._read_prose(section, headings, Surroundings("prose"))
                section, headings = [], part.headings
            if part.place in {PartKind.PROSE, PartKind.HEADING}:
                section.append(part.view)
                lead = part.view
            self._read_part(part, lead)
        self._read_prose(section, headings, Surroundings("prose"))

    def _read_part(self, part: MarkdownPart, lead: View) -> None:
        if part.place is PartKind.FRONTMATTER:
            self._read_prose([part.view], (), Surroundings("frontmatter"))
            self._keep(find_frontmatter_marks(part.view), Surroundings("frontmatter"))
            self._read_commands(part.view, Surroundings("frontmatter"))
            self._keep(
                find_frontmatter_problems(part.view, self._texts[part.view.path]), Surroundings()
            )
        elif part.place.is_hidden:
            self._read_hidden(part.view, Surroundings(part.place.value, is_hidden=True))
        elif part.place is PartKind.CODE:
            self._read_fence(part)
        elif part.place is PartKind.CODE_SPAN:
            self._read_code(
                Snippet("", part.view),
                Surroundings("span"),
                1,
                lambda: find_code_contexts(part, lead),
            )
        elif part.place is PartKind.HEADING:
            self._keep(find_breakouts(part.view, prose.forbids), Surroundings("prose"))
        elif part.place is PartKind.PROSE:
            self._read_commands(part.view, Surroundings("prose"), part)
            self._read_dynamic(part.view)
            self._keep(find_breakouts(part.view, prose.forbids), Surroundings("prose"))

    def _read_fence(self, part: MarkdownPart) -> None:
        self._find_direction_marks(part)
        by_itself = "dynamic-context" if part.language.startswith("!") else ""
        setting = Surroundings("fence", runs_by_itself=by_itself)
        language = read_fence_language(part.language)
        self._read_code(Snippet(language, part.view), setting, 1)
        if language not in {"python", "javascript"}:
            # Prompts, differences and formats without a reader hold commands, too.
            self._read_commands(part.view, setting)
            return
        for line in _SHELL_LINE.finditer(part.view.text):
            self._read_code(Snippet("shell", part.view.cut(*line.span(1))), setting, 1)

    def _find_direction_marks(self, part: MarkdownPart) -> None:
        """In code no character may turn the order of what is read."""
        raw = self.scene.raw.get(part.view.path)
        if raw is None or not part.view.text:
            return
        start, end = part.view.origin(0), part.view.origin(len(part.view.text) - 1) + 1
        if found := re.search("[\u202a-\u202e\u2066-\u2069]", raw.text[start:end]):
            spot = Spot(raw, start + found.start(), start + found.end())
            seen = Sighting("unicode-bidi", spot, "turns the order of the characters in code")
            self.seen.append((seen, Surroundings()))

    def _read_dynamic(self, view: View) -> None:
        """Code spans with a bang before them run when the skill is loaded."""
        for found in re.finditer(r"(?<![\w!\])])!`([^`\n]{2,1000})`", view.text):
            inside = view.cut(found.start(1), found.end(1))
            self._read_code(
                Snippet("shell", inside), Surroundings("span", runs_by_itself="dynamic-context"), 1
            )

    def _read_hidden(self, view: View, setting: Surroundings) -> None:
        before = len(self.seen)
        for seen in prose.judge(prose.Passages(view, is_hidden=True)):
            self.seen.append((seen, setting))
        if any(_weighs(seen) for seen, _ in islice(self.seen, before, None)):
            start = len(view.text) - len(view.text.lstrip())
            spot = Spot(view, start, len(view.text))
            message = "gives orders where the reader of the page does not see them"
            self.seen.append((Sighting("hidden-instruction", spot, message), setting))
        self._read_commands(view, setting)

    # Prose

    def _read_prose(
        self, views: Iterable[View], headings: tuple[str, ...], setting: Surroundings
    ) -> None:
        section = _join_views(list(views))
        if section is None:
            return
        self.check_time(section.path)
        for reading in (section, read_leet(section)):
            if reading is section or reading.text != section.text:
                text = prose.Passages(reading, headings, has_quotes=setting.place != "frontmatter")
                for seen in prose.judge(text):
                    level = Level.WARN if reading is not section and _weighs(seen) else seen.level
                    self.seen.append((replace(seen, level=level), setting))
        if prose.may_run_on(section.text):
            for seen in prose.judge(
                prose.Passages(join_lines(section), headings), prose.drawn_out_cues()
            ):
                self.seen.append((seen, setting))

    def _read_commands(
        self, view: View, setting: Surroundings, part: MarkdownPart | None = None
    ) -> None:
        for command in find_commands(view):
            here = replace(part, view=command) if part else None
            contexts = (lambda here=here: find_code_contexts(here, view)) if here else None
            self._read_code(Snippet("", command), setting, 1, contexts)

    # Code

    def _read_code(
        self,
        snippet: Snippet,
        setting: Surroundings,
        depth: int,
        contexts: Callable[[], tuple[str, ...]] | None = None,
    ) -> None:
        self._left -= 1
        if depth > _DEPTH or self._left < 0:
            why = "too many pieces of code" if self._left < 0 else "code nested too deeply in code"
            self.unread.append(Unread(snippet.view.path, why))
            return
        if self._left % 50 == 0:
            self.check_time(snippet.view.path)
        for reading in read_snippet(snippet):
            # What stands around a piece of code is only looked at where the code does something.
            if contexts and (reading.facts or reading.snippets or reading.texts):
                setting, contexts = replace(setting, lowered_by=contexts()), None
            self._take(reading, snippet, setting, depth)

    def _take(self, reading: Reading, snippet: Snippet, setting: Surroundings, depth: int) -> None:
        path = snippet.view.path
        for fact in reading.facts:
            self.scene.note(Noted(fact, setting))
        if reading.imports:
            self.scene.imports[path] = (*self.scene.imports.get(path, ()), *reading.imports)
        if reading.unread and setting.place in {"file", "data"} and depth == 0:
            self._note_unread(reading, snippet, setting)
        for text in reading.texts:
            calls = prose.calls_agent(text.text)
            comment = replace(setting, place="comment")
            aside = replace(comment, lowered_by=(*setting.lowered_by, "a comment in code"))
            # A comment in code gives no orders, unless it speaks to the agent; a page that shows
            # code does, and so does a value of data.
            is_aside = not calls and snippet.language in _CODE
            spoken = aside if is_aside and setting.place == "file" else comment
            for seen in prose.judge(prose.Passages(text, is_hidden=calls, is_aside=True)):
                self.seen.append((seen, spoken))
            self._read_commands(text, aside if is_aside else comment)
        by_itself = _starts_by_itself(reading)
        for inner in reading.snippets:
            nested = replace(setting, runs_by_itself=by_itself or setting.runs_by_itself)
            if inner.view.text.strip():
                self._read_code(inner, nested, depth + 1)

    def _note_unread(self, reading: Reading, snippet: Snippet, setting: Surroundings) -> None:
        self.unread.append(Unread(snippet.view.path, reading.unread))
        seen = reading.facts or reading.texts or reading.imports
        # Other readers make what they can of anything; this one wants a whole program.
        if snippet.language == "python" and not seen:
            # No code of that language: a text, and maybe one for whoever reads it.
            self._read_prose([snippet.view], (), setting)
            self._read_commands(snippet.view, setting)

    def _read_decoded(self, view: View, language: str) -> None:
        for hidden in decode_views(view, self._budget):
            self.check_time(view.path)
            before, notes = len(self.seen), self.scene.count()
            setting = Surroundings("decoded")
            self._keep(find_text_marks(hidden, prose.forbids), setting)
            for seen in prose.judge(prose.Passages(hidden)):
                self.seen.append((seen, setting))
            if language != "markdown" or looks_like_shell(hidden.text) or is_code(hidden.text):
                self._read_code(Snippet("", hidden), setting, 2)
                self._read_commands(hidden, setting)
            spoke = any(_weighs(seen) for seen, _ in islice(self.seen, before, None))
            if spoke or self.scene.count() > notes:
                where = Spot(hidden, 0, len(hidden.text))
                message = "hides commands or orders in an encoding"
                self.seen.append((Sighting("encoded-payload", where, message), setting))

        if self._budget.exhausted:
            self.unread.append(Unread(view.path, "too many encoded texts"))

    def _keep(self, sightings: Iterable[Sighting], setting: Surroundings) -> None:
        self.seen.extend((seen, setting) for seen in sightings)


def _spell_data(source: SourceFile) -> View:
    """Return a text as its reader has it where escapes and entities are read before anybody looks.

    Code has its own readers, for whom an escape in a pattern is no character of the text.
    """
    language, text = find_language(source.path, source.text), source.text
    if language == "data":
        return spell_written(source.view, len(text))
    if language != "markdown":
        return source.view
    return spell_written(source.view, text.find("\n---", 3) if text.startswith("---") else 0)


def _weighs(seen: Sighting) -> bool:
    return seen.level is not Level.INFO and not seen.lowered_by


def _starts_by_itself(reading: Reading) -> str:
    subjects = {fact.subject for fact in reading.facts if fact.act is Act.EXEC}
    if "install-hook" in subjects:
        return "install-hook"
    return "agent-config-tamper" if "agent-hook" in subjects else ""


def _join_views(views: list[View]) -> View | None:
    """The prose of one section as one text."""
    if not views:
        return None
    text = "\n\n".join(view.text.rstrip("\n") for view in views)
    origins: list[int] = []
    for view in views:
        kept = len(view.text.rstrip("\n"))
        origins.extend(view.origins[:kept])
        origins.extend([view.origin(kept)] * 2)
    return View(views[0].path, text, origins[: len(text)], views[0].chain)
