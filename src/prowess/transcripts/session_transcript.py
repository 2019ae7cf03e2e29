"""A session as a transcript that the workshop reads: what was typed and what was answered.

The log itself also holds branches that a person left and words that a program put into the
person's mouth. A session is free of both, so corrections are looked for here and not in the log.
"""

from prowess.transcripts.session_model import Session, Turn
from prowess.transcripts.turns import Message, Shape, Transcript, UserTurn


def as_transcript(session: Session) -> Transcript:
    """Return the prompts of a session with the agent's last words after each."""
    turns = tuple(_turn(turn) for turn in session.turns if not turn.by_hand)
    return Transcript(
        turns=turns,
        messages=sum(len(turn.messages) for turn in turns),
        shape=Shape.SESSION,
        skipped=session.skipped,
        session_id=session.id,
    )


def _turn(turn: Turn) -> UserTurn:
    said = [{"role": "user", "content": turn.prompt}]
    if turn.answer:
        said.append({"role": "assistant", "content": turn.answer})
    # Both have the number of the prompt: that is what a person looks for.
    return UserTurn(
        tuple(
            Message(content=content, shape=Shape.SESSION, line=0, number=turn.number)
            for content in said
        )
    )
