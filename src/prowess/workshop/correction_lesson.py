"""What a correction says about how the work is done, in the person's own words.

`No, that's wrong:` and `why did you not use the skill?` are about one turn and teach nothing: they
are left out. What remains is an instruction, or nothing where a person only complained.
"""

import re

from prowess.language.corrections_part import Correction, correction, speaks_of_using_a_skill
from prowess.language.trace_objections import objects
from prowess.transcripts.session_turns import told
from prowess.workshop.capture import LONGEST
from prowess.workshop.missed_activations import asks_for

_SENTENCE = re.compile(r"(?<=[.!?\u2026])\s+|(?<=[\u3002\uff01\uff1f\u061f\u0964])\s*")
_QUESTION = ("?", "\uff1f", "\u061f")
# How people begin before they come to it, in front of a comma or alike; more than once.
_OPENING = re.compile(
    r"\W{0,5}(?:(?:no+|nope|nah|wrong|stop|wait|hm+|sorry|ok(?:ay)?|please|nein|falsch|halt|non|stop"
    r"|faux|mal|sbagliato|n[a\u00e3]o|nee|fout|nie|nej|fel|hay[\u0131i]r|yanl[\u0131i][\u015fs]"
    r"|\u043d\u0435\u0442|\u043d\u0435\u0432\u0435\u0440\u043d\u043e|\u0644\u0627|\u0628\u0644"
    r"|\u0928\u0939\u0940\u0902|\u4e0d\u5bf9|\u4e0d\u5c0d|\u4e0d|\u9519\u4e86|\u932f\u4e86"
    r"|\u9055\u3044\u307e\u3059|\u9055\u3046|\uc544\ub2c8\uc694?|\ud2c0\ub838\uc5b4"
    r"|(?:that|this|it)(?:'s|\u2019s| is| was|\sisn't|\sis not|\swasn't)"
    r"\s(?:(?:all|not|still|just|completely|totally)\s){0,2}(?:wrong|right|correct|incorrect|it)"
    r"|das\sist\s(?:\w{1,12}\s)?(?:falsch|nicht\srichtig)|c'est\s(?:faux|pas\s(?:\u00e7a|bon))"
    r"|wrong\sapproach)\s{0,2}[,.!;:\u2013\u2014\u3002\uff01\uff0c\u3001\u060c\u0964-]+\s{0,2}){1,4}",
    re.IGNORECASE,
)
_FORGOTTEN = re.compile(
    r"(?:you (?:forgot|missed|skipped) \w|du hast \b.{3,60} vergessen)", re.IGNORECASE
)
_WANTED = frozenset((Correction.SHOULD_HAVE, Correction.INSTEAD, Correction.NEXT_TIME))
# What is proved to be a correction may be shorter than what is only taken for one.
_SHORTEST = 16
_ABOUT_A_SKILL = frozenset((Correction.WHY, Correction.SKILL))


def lesson(words: str, skill: str) -> str:
    """Return what a correction tells to do, on one line; nothing where it tells nothing.

    Args:
        words: what the person typed.
        skill: the skill that was missed; to ask for it by its name teaches it nothing.
    """
    text = " ".join(words.split())
    if len(text) > LONGEST or not told(text):
        # So long a text is a task of its own, and so is one that corrects nothing.
        return ""
    sentences = [_opened(one) for one in _SENTENCE.split(_opened(text))]
    telling = [one for one in sentences if one and _tells(one) and not asks_for(one, skill)]
    found = " ".join(one for one in telling if not objects(one) or _says_what(one))
    return found[:1].upper() + found[1:] if len(found) >= _shortest(found) else ""


def _opened(sentence: str) -> str:
    """Return a sentence without the words that only reject."""
    match = _OPENING.match(f"{sentence} ")
    return sentence[match.end() :].strip() if match else sentence.strip()


def _tells(sentence: str) -> bool:
    if sentence.endswith(_QUESTION):
        return False
    is_of_skill = correction(sentence) in _ABOUT_A_SKILL or speaks_of_using_a_skill(sentence)
    return not is_of_skill and any(letter.isalnum() for letter in sentence)


def _says_what(sentence: str) -> bool:
    """Return whether a sentence that objects also says what was wanted."""
    return correction(sentence) in _WANTED or _FORGOTTEN.match(sentence) is not None


def _shortest(text: str) -> int:
    """Return how long an instruction is at least: some scripts say a word with one sign."""
    return _SHORTEST if max(text, default="") < "\u2e80" else _SHORTEST // 2
