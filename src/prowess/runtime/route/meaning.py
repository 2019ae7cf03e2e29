"""The encoder and the cross-encoder as routing uses them: opened late, left alone when they fail.

A model that fails is not asked again for a while, unless the settings name another one, and why it
failed stays known as long as it matters.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from prowess.errors import EncoderError
from prowess.routing import router
from prowess.routing.index import SkillIndex
from prowess.routing.router import Query
from prowess.runtime.ports import Encoder, Judge, Vectors
from prowess.settings import EncoderSettings, RoutingSettings

_REMEMBERED_MESSAGES = 256
_JUDGED_SKILLS = 10
# How long a failing model is left alone before it is tried again.
PAUSE_S = 30.0


class Meaning:
    """Gives messages their vectors, and the best skills a second look."""

    def __init__(
        self,
        settings: Callable[[], RoutingSettings],
        open_encoder: Callable[[], Encoder | None],
        open_judge: Callable[[str], Judge | None],
        seconds: Callable[[], float],
    ) -> None:
        self._settings, self._seconds = settings, seconds
        self._open_encoder, self._open_judge = open_encoder, open_judge
        self._lock = Lock()
        self._encoder: Encoder | None = None
        self._opened_for: EncoderSettings | None = None
        self._messages: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._problem, self._failed_at = "", float("-inf")
        self._judge: Judge | None = None
        self._judge_for, self._judge_problem, self._judge_failed_at = "off", "", float("-inf")

    @property
    def problem(self) -> str:
        """Why meaning takes no part; empty where it does, or where nothing was asked yet."""
        return self._problem

    @property
    def judge_problem(self) -> str:
        """Why the cross-encoder of the settings takes no part."""
        return self._judge_problem if self._judge_for == self._settings().rerank else ""

    def failed(self, problem: str) -> None:
        """Remember that the encoder does not work, and leave it alone for a while."""
        self._problem, self._failed_at = problem, self._seconds()

    def worked(self) -> None:
        """Forget an earlier failure: the encoder has answered since."""
        self._problem, self._failed_at = "", float("-inf")

    def encoder(self) -> Encoder | None:
        """Return the encoder of the settings, not loaded yet; None where there is none."""
        wanted = self._settings().encoder
        with self._lock:
            if self._opened_for == wanted and (self._encoder is not None or self._pausing):
                return self._encoder
            self._encoder, self._opened_for = None, wanted
            self.worked()
            try:
                opened = self._open_encoder()
                # Naming itself shows whether the model is there at all.
                self._encoder = opened if opened is None or opened.id else None
            except EncoderError as error:
                self.failed(str(error))
            return self._encoder

    def with_vector(self, index: SkillIndex, query: Query) -> Query:
        """Return `query` with its vector, if the index can use one and the encoder works."""
        encoder = self.encoder()
        # An index from before a change of encoder is asked by words alone.
        if encoder is None or index.dense is None or index.encoder_id != encoder.id:
            return query
        if not query.ask.strip():
            return query
        vector = self._vector(encoder, query.ask)
        return query if vector is None else self._judged(index, replace(query, vector=vector))

    def _vector(self, encoder: Encoder, ask: str) -> "Vectors | None":
        key = (encoder.id, ask)
        with self._lock:
            known = self._messages.get(key)
        if known is not None:
            return known
        if self._pausing:
            return None
        try:
            vector: Vectors = encoder.encode([ask])[0]
        except EncoderError as error:
            self.failed(str(error))
            return None
        self.worked()
        with self._lock:
            self._messages[key] = vector
            while len(self._messages) > _REMEMBERED_MESSAGES:
                self._messages.popitem(last=False)
        return vector

    def _judged(self, index: SkillIndex, query: Query) -> Query:
        """Let a cross-encoder read the best skills with the message, where one is configured."""
        wanted = self._settings().rerank
        with self._lock:
            if self._judge_for != wanted:
                self._judge, self._judge_for = self._open_judge(wanted), wanted
                self._judge_problem, self._judge_failed_at = "", float("-inf")
            judge = self._judge
        if judge is None or self._seconds() - self._judge_failed_at < PAUSE_S:
            return query
        places = router.rank(index, query).order[:_JUDGED_SKILLS]
        try:
            judged = judge.judge(query.ask, [index.evidence[place].text for place in places])
        except EncoderError as error:
            self._judge_problem, self._judge_failed_at = str(error), self._seconds()
            return query
        self._judge_problem = ""
        return replace(query, judged=dict(zip(places, judged.tolist(), strict=True)))

    @property
    def _pausing(self) -> bool:
        return self._seconds() - self._failed_at < PAUSE_S
