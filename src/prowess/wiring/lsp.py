"""A language server: what `validate`, `scan`, `fresh` and `why` say of a skill while one writes.

Needs `pip install 'prowess[lsp]'`. What an editor holds is checked as if it were saved: nothing of
it is kept, and no file is changed but by the editor itself, when a person takes a fix.
"""

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from prowess import __version__
from prowess.errors import PathError, SkillNotFoundError
from prowess.host.sources.candidates import Candidate
from prowess.host.sources.skill_files import locate_skill, read_targets
from prowess.proof.freshness import SkillFreshness
from prowess.runtime.proof.fresh import describe, mend_lines
from prowess.safety.model import Level
from prowess.skills.model import Diagnostic, Document, Severity, Skill, Source, Tier, diagnose
from prowess.skills.parse import CLAUDE_KEYS, KEYS, parse
from prowess.skills.text import clean
from prowess.skills.validation import plan
from prowess.wiring.library import Runtime, open_runtime
from prowess.wiring.proof import open_freshness
from prowess.wiring.transfer import candidates, report_on

# Keys come in bursts; what is told has to be there a tenth of a second after the last one.
_QUIET_S = 0.04
_LINE_END = re.compile(r"\r\n|\n|\r")
_WORD = re.compile(r"[\w.-]+")
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
    Level.CRITICAL: lsp.DiagnosticSeverity.Error,
    Level.WARN: lsp.DiagnosticSeverity.Warning,
    Level.INFO: lsp.DiagnosticSeverity.Information,
}


_Told: TypeAlias = (
    lsp.DidOpenTextDocumentParams
    | lsp.DidSaveTextDocumentParams
    | lsp.DidChangeTextDocumentParams
    | lsp.DidCloseTextDocumentParams
)


class EditedSkill:
    """One skill file as an editor holds it."""

    def __init__(self, runtime: Runtime, path: str, text: str) -> None:
        self._runtime, self.path = runtime, path
        self._content = text.encode("utf-8", "replace")
        self.lines = _LINE_END.split(text)
        self._item = self._read()
        document = self._item.document
        mode = runtime.skills.settings.skills.spec_mode
        self.skill = None if document is None else parse(document, mode).skill

    def _read(self) -> Candidate:
        """Take what lies beside the file from the disk, and its text from the editor."""
        most = self._runtime.skills.settings.skills.limits.max_skill_file_bytes
        if len(self._content) > most:
            problem = diagnose("FILE_TOO_LARGE", f"{len(self._content)} bytes, at most {most}")
            return Candidate(path=self.path, document=None, problem=problem)
        folder = os.path.dirname(self.path)
        try:
            found = next(iter(candidates(self._runtime, [self.path], None)), None)
        except PathError:
            # It is not saved yet, so that nothing lies beside it.
            found = None
        source = Source(tier=Tier.WORKSPACE, root=folder)
        document = Document(source=source, path=self.path, folder=folder, content=self._content)
        if found is None or found.document is None:
            return Candidate(path=self.path, document=document)
        return replace(found, document=replace(found.document, content=self._content))

    def diagnose(self, check: Callable[[Skill], SkillFreshness]) -> list[lsp.Diagnostic]:
        """Return all that is to be said about it."""
        found = [self._show(one) for one in report_on(self._item, strict=False).diagnostics]
        if self.skill is not None:
            found += self._scan(self.skill)
            found += self._mark_stale(check(self.skill))
        return found

    def _show(self, one: Diagnostic) -> lsp.Diagnostic:
        text = f"{one.message}. {one.fix}".strip()
        return self._mark(one.line or 1, text, one.code, _SEVERITIES[one.severity])

    def _scan(self, skill: Skill) -> Iterator[lsp.Diagnostic]:
        target = next(read_targets(locate_skill(skill)))
        name = os.path.basename(self.path)
        if target.files.get(name) == self._content:
            report = self._runtime.scanning.scan_target(target).report
        else:
            files = {**target.files, name: self._content}
            report = self._runtime.scanning.scan_plain(files, target.profile)
        for one in report.findings:
            # What other files of the skill hold is told where they are opened or scanned.
            if one.file == name:
                text = f"{one.message} {one.fix}".strip()
                yield self._mark(one.line, text, one.rule_id, _SEVERITIES[one.level])

    def _mark_stale(self, found: SkillFreshness) -> Iterator[lsp.Diagnostic]:
        for one in found.stale:
            text = describe(one).partition(": ")[2]
            code = f"stale-{one.claim.kind.value}"
            yield self._mark(
                one.claim.line, text, code, lsp.DiagnosticSeverity.Warning, one.claim.text
            )

    def _mark(
        self, line: int, text: str, code: str, severity: lsp.DiagnosticSeverity, word: str = ""
    ) -> lsp.Diagnostic:
        return lsp.Diagnostic(
            range=self.range_of(line, word),
            message=clean(text),
            severity=severity,
            code=code,
            source="prowess",
        )

    def range_of(self, line: int, word: str = "") -> lsp.Range:
        """Return where a line is, or a word of it."""
        at = min(max(line - 1, 0), len(self.lines) - 1)
        text = self.lines[at]
        start = max(text.find(word), 0) if word else len(text) - len(text.lstrip())
        end = start + len(word) if word and word in text else len(text)
        return lsp.Range(
            lsp.Position(at, _units(text[:start])), lsp.Position(at, _units(text[:end]))
        )

    def hover(self, position: lsp.Position) -> str:
        """Return the path to the agent of the skill that a word names; at the top, of this one."""
        if position.line >= len(self.lines):
            return ""
        line = self.lines[position.line]
        words = (one for one in _WORD.finditer(line))
        under = next((one for one in words if _covers(line, one, position.character)), None)
        names = {row.skill.name for row in self._runtime.skills.status().skills}
        name = under[0] if under is not None and under[0] in names else ""
        if not name and self.skill is not None and position.line < self._front_end():
            name = self.skill.name
        return self._explain(name) if name else ""

    def _explain(self, name: str) -> str:
        try:
            found = self._runtime.why(name)
        except SkillNotFoundError:
            return f"{clean(name)} is not among the skills that are found."
        verdict = "is visible to" if found.visible else "is not visible to"
        lines = [f"{found.name} {verdict} agent {found.agent_id}"]
        for step in found.steps:
            lines.append(f"{'✓' if step.passed else '✗'} {step.stage}: {step.detail}")
            lines += [f"  -> {step.fix}"] if step.fix else []
        return clean("\n".join(lines))

    def _front_end(self) -> int:
        """Return the number of the line that closes the frontmatter; 0 where there is none."""
        if self.lines[0].removeprefix("\ufeff").rstrip() != "---":
            return 0
        rest = enumerate(self.lines[1:], start=1)
        return next((at for at, line in rest if line.rstrip() == "---"), len(self.lines))

    def complete(self, position: lsp.Position) -> list[lsp.CompletionItem]:
        """Return the keys that the frontmatter has not yet, where a key is being written."""
        if not 0 < position.line < self._front_end():
            return []
        line = self.lines[position.line]
        if line[:1].isspace() or ":" in line:
            return []
        used = {one.partition(":")[0].strip() for one in self.lines[1 : self._front_end()]}
        known = dict.fromkeys(KEYS, "Agent Skills standard")
        known |= dict.fromkeys(CLAUDE_KEYS, "read by some coding agents")
        return [
            lsp.CompletionItem(
                label=key,
                detail=detail,
                kind=lsp.CompletionItemKind.Property,
                insert_text=f"{key}: ",
                sort_text=f"{number:02}",
            )
            for number, (key, detail) in enumerate(known.items())
            if key not in used
        ]

    def fix(self, check: Callable[[Skill], SkillFreshness]) -> Iterator[tuple[str, lsp.TextEdit]]:
        """Return what needs no judgement: repairs of the file, and what became something else."""
        document = self._item.document
        repair = None if document is None else plan(document)
        names = {row.skill.name for row in self._runtime.skills.status().skills}
        if repair is not None and repair.before != repair.after and repair.name not in names:
            yield "; ".join(repair.notes) or "Repair the frontmatter", self._edit(repair.after)
        if self.skill is not None:
            for number, (old, new) in mend_lines(check(self.skill)).items():
                if self.lines[number - 1] == old:
                    yield f"Write: {new.strip()}", lsp.TextEdit(self._span(number, number), new)

    def _edit(self, after: str) -> lsp.TextEdit:
        """Return the change of the lines that differ, so that an editor keeps its place."""
        new, old = _LINE_END.split(after), self.lines
        first = next(
            (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
            min(len(old), len(new)) - 1,
        )
        same = 0
        while same < min(len(old), len(new)) - first - 1 and old[-1 - same] == new[-1 - same]:
            same += 1
        text = "\n".join(new[first : len(new) - same])
        return lsp.TextEdit(self._span(first + 1, len(old) - same), text)

    def _span(self, first: int, last: int) -> lsp.Range:
        end = lsp.Position(last - 1, _units(self.lines[last - 1]))
        return lsp.Range(lsp.Position(first - 1, 0), end)


def _units(text: str) -> int:
    """Return how long a text is to an editor, which counts in UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _covers(line: str, word: re.Match[str], character: int) -> bool:
    return _units(line[: word.start()]) <= character <= _units(line[: word.end()])


class EditorServer:
    """Answers one editor; the workspace is the one that it names, unless one was given."""

    def __init__(self, workspace: str | None) -> None:
        self._workspace = workspace
        self._opened_runtime: Runtime | None = None
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._check: Callable[[Skill], SkillFreshness] | None = None
        self.server = LanguageServer("prowess", __version__)
        options = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
        for name, handler, more in (
            (lsp.TEXT_DOCUMENT_DID_OPEN, self._look_again, None),
            (lsp.TEXT_DOCUMENT_DID_SAVE, self._look_again, None),
            (lsp.TEXT_DOCUMENT_DID_CHANGE, self._wait, None),
            (lsp.TEXT_DOCUMENT_DID_CLOSE, self._forget, None),
            (lsp.TEXT_DOCUMENT_HOVER, self._hover, None),
            (lsp.TEXT_DOCUMENT_COMPLETION, self._complete, None),
            (lsp.TEXT_DOCUMENT_CODE_ACTION, self._fix, options),
        ):
            # The library writes on what it is given, and a method cannot be written on.
            self.server.feature(name, more)(partial(handler))

    @property
    def _runtime(self) -> Runtime:
        if self._opened_runtime is None:
            root = self._workspace or self.server.workspace.root_path
            self._opened_runtime = open_runtime(root)
        return self._opened_runtime

    def _checker(self) -> Callable[[Skill], SkillFreshness]:
        if self._check is None:
            self._check = open_freshness(self._runtime).open_check()
        return self._check

    def _text(self, uri: str) -> EditedSkill | None:
        """Return the skill that an editor holds; other pages are none of our business."""
        path = uris.to_fs_path(uri)
        if not path:
            return None
        if os.path.basename(path).lower() != "skill.md":
            found = self._runtime.skills.status().skills
            if os.path.realpath(path) not in {os.path.realpath(row.skill.path) for row in found}:
                return None
        return EditedSkill(self._runtime, path, self.server.workspace.get_text_document(uri).source)

    def _look_again(self, params: _Told) -> None:
        """Look at the disk anew: a file was opened or saved, and others may have changed."""
        skills = self._runtime.skills
        skills.workspace().refresh(skills.settings)
        self._check = None
        self._tell(params.text_document.uri)

    def _wait(self, params: _Told) -> None:
        uri = params.text_document.uri
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._waiting[uri] = asyncio.get_running_loop().call_later(_QUIET_S, self._tell, uri)

    def _tell(self, uri: str) -> None:
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        text = self._text(uri)
        if text is not None:
            self._publish(uri, text.diagnose(self._checker()))

    def _publish(self, uri: str, found: list[lsp.Diagnostic]) -> None:
        version = self.server.workspace.get_text_document(uri).version
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        )

    def _forget(self, params: _Told) -> None:
        uri = params.text_document.uri
        if uri in self._waiting:
            self._waiting.pop(uri).cancel()
        self._publish(uri, [])

    def _hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        text = self._text(params.text_document.uri)
        said = "" if text is None else text.hover(params.position)
        # As plain text: what a skill says is no link and no picture in the editor.
        content = lsp.MarkupContent(lsp.MarkupKind.PlainText, said)
        return lsp.Hover(content) if said else None

    def _complete(self, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        text = self._text(params.text_document.uri)
        return [] if text is None else text.complete(params.position)

    def _fix(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        text = self._text(uri)
        asked = params.range
        return [
            lsp.CodeAction(
                title=clean(title),
                kind=lsp.CodeActionKind.QuickFix,
                edit=lsp.WorkspaceEdit(changes={uri: [edit]}),
            )
            for title, edit in (() if text is None else text.fix(self._checker()))
            if edit.range.start.line <= asked.end.line and asked.start.line <= edit.range.end.line
        ]


def serve_editor(workspace: str | None) -> None:
    """Answer an editor on standard input and output until it leaves."""
    # The server closes what it writes to, and standard output is still flushed after it.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        EditorServer(workspace).server.start_io(stdout=out)
