"""The second look of `scan --review`: the person's own language model, and when it cannot."""

import secrets
from collections.abc import Callable
from dataclasses import replace

import click

from prowess.errors import ModelError
from prowess.runtime.reviewing import Reviewer
from prowess.runtime.scan import Scanned
from prowess.skills.text import one_line
from prowess.wiring import Runtime

Review = Callable[[Scanned], Scanned]


def review_of(runtime: Runtime, *, asked: bool) -> Review:
    """Return the second look that was asked for, by the option or by the settings.

    Raises:
        ModelError: the option asks for a model, and none can be used.
    """
    if not asked and not runtime.skills.settings.skills.safety.review:
        return _unchanged
    try:
        reviewer = Reviewer(runtime.language_model(), lambda: secrets.token_hex(16))
    except ModelError as error:
        if asked:
            raise
        # A setting must not stop the scan that needs no model.
        _note(f"not reviewed: {error}")
        return _unchanged

    def look(scanned: Scanned) -> Scanned:
        outcome = reviewer.review(scanned.target.files, scanned.report, scanned.profile)
        if outcome.problem:
            _note(f"{scanned.target.name or scanned.target.path}: {outcome.problem}")
        return replace(scanned, report=outcome.report)

    return look


def _unchanged(scanned: Scanned) -> Scanned:
    return scanned


def _note(text: str) -> None:
    # Beside the report, never inside it: a program may be reading that.
    click.echo(f"note: {one_line(text)}", err=True)
