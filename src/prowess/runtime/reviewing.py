"""Asking the user's language model about a skill that the scanner let pass.

It is asked with one question and no tools, and once more where its answer cannot be read. Whatever
goes wrong leaves the report of the scan as it is.
"""

from collections.abc import Callable, Mapping

from prowess.errors import ModelError
from prowess.runtime.ports import LanguageModel
from prowess.safety.model import Profile, ScanReport, ScanVerdict
from prowess.safety.review import Review, ReviewOutcome, ReviewStatus, raised, read_review
from prowess.safety.review_prompt import Prompt, make_prompt

_MOST_NAMED = 3


class Reviewer:
    """Has a model look at skills; may raise their verdicts and never lowers one."""

    def __init__(self, model: LanguageModel, nonce: Callable[[], str]) -> None:
        """Prepare to ask `model`; each call of `nonce` gives letters that nobody can guess."""
        self._model, self._nonce = model, nonce

    def review(
        self, files: Mapping[str, bytes], report: ScanReport, profile: Profile = Profile.PACKAGE
    ) -> ReviewOutcome:
        """Return the report as the model leaves it; never raises because of the model."""
        if report.verdict in {ScanVerdict.QUARANTINE, ScanVerdict.ERROR}:
            # There is nothing above it, and a text that is known to be hostile stays here.
            return ReviewOutcome(report, ReviewStatus.SKIPPED)
        prompt = make_prompt(files, self._nonce())
        if prompt is None:
            return ReviewOutcome(report, ReviewStatus.SKIPPED, "there is no text to review")
        review, problem = self._ask(files, prompt)
        if not review.answers:
            status = ReviewStatus.UNAVAILABLE if problem else ReviewStatus.UNREADABLE
            return ReviewOutcome(report, status, problem or self._unreadable())
        notes = "; ".join((*((problem,) if problem else ()), *_notes(review, prompt)))
        return ReviewOutcome(raised(report, review, profile), ReviewStatus.REVIEWED, notes)

    def _ask(self, files: Mapping[str, bytes], first: Prompt) -> tuple[Review, str]:
        """Return what was answered, and why there is not more where the model failed."""
        review, replies = Review(), list[str]()
        prompt: Prompt | None = first
        for again in (True, False):
            if prompt is None:
                break
            try:
                replies.append(self._model.complete(prompt.instructions, prompt.question))
            except ModelError as error:
                return review, str(error)
            review = read_review(replies, files)
            if not review.missing:
                break
            prompt = make_prompt(files, self._nonce(), again=True) if again else None
        return review, ""

    def _unreadable(self) -> str:
        return f"{self._model.name}: does not answer with the JSON that it was asked for"


def _notes(review: Review, prompt: Prompt) -> tuple[str, ...]:
    """Say what a review that took place does not cover."""
    notes = []
    if review.missing:
        notes.append(f"no answer about {', '.join(review.missing)}")
    if review.unsupported:
        asked = ", ".join(answer.question for answer in review.unsupported)
        notes.append(f"yes to {asked} without a passage that is in the files, so it does not count")
    if prompt.left_out:
        named = ", ".join(prompt.left_out[:_MOST_NAMED])
        more = len(prompt.left_out) - _MOST_NAMED
        notes.append(f"the model did not see {named}{f' and {more} more' if more > 0 else ''}")
    return tuple(notes)
