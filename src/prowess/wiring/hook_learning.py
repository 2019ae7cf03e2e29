"""Learning from turns that a hook saw end, with the real workshop, sessions and marks."""

from prowess.errors import PathError
from prowess.hooks.handover import unpacked
from prowess.hooks.payloads import Incoming
from prowess.host.harness.hook_marks import HookMarks
from prowess.host.harness.transcripts import read_transcript
from prowess.host.sources.session_roots import is_in_roots, session_roots
from prowess.runtime.workshop.hook_learning import LearningTools, TurnLearning
from prowess.transcripts.turns import Transcript, transcript
from prowess.wiring.library import Runtime, open_runtime


def open_turn_learning(runtime: Runtime) -> TurnLearning:
    """Return what learns from turns of the runtime's folder."""
    return TurnLearning(
        LearningTools(
            workshop=lambda: runtime.workshop,
            session=lambda incoming: _session(runtime, incoming),
            is_first=HookMarks(runtime.folders.state).is_first,
        )
    )


def _session(runtime: Runtime, incoming: Incoming) -> Transcript | None:
    """Read the session that a payload names, if it lies where that harness keeps its own."""
    path = incoming.transcript_path
    if path.startswith("~/"):
        path = runtime.folders.home + path[1:]
    roots = session_roots(runtime.folders.home, runtime.environ).get(incoming.harness, ())
    if not is_in_roots(path, roots):
        return None
    try:
        raw = read_transcript(path)
    except PathError:
        # Not written yet, or cleared away: then there is nothing to learn from.
        return None
    return transcript(raw.records, None, raw.skipped)


def learn_alone(raw: bytes, folder: str) -> None:
    """Learn from one call in a process that was started for it.

    Raises:
        ProwessError: the session or the store cannot be used.
        ValueError: `raw` is no call.
    """
    incoming = unpacked(raw)
    with open_runtime(folder) as runtime:
        open_turn_learning(runtime).learn(incoming)
