"""Which letters of other alphabets look like a Latin letter.

The rows come from the confusables of Unicode (UTS 39), cut down to single letters that look like
one ASCII letter and to the scripts in which a whole word can be spelt with them; small capitals
are added. As code points, because the letters themselves cannot be told apart on a screen.
"""

import re
from functools import cache

# Each row: the ASCII letter, and the code points that look like it.
_LIKENESS = {
    "A": "391 410 13AA 15C5 A4EE",
    "B": "392 412 13F4 15F7 A4D0 A7B4",
    "C": "421 13DF 2CA4 A4DA 10415",
    "D": "13A0 15DE 15EA A4D3",
    "E": "395 415 13AC 2D39 A4F0",
    "F": "3DC 15B4 A4DD A798",
    "G": "50C 13C0 13F3 A4D6",
    "H": "397 41D 13BB 157C 2C8E A4E7",
    "I": "399 406 4C0 2C92 2D4F A4F2",
    "J": "37F 408 13AB 148D A4D9 A7B2",
    "K": "39A 41A 13E6 2C94 A4D7",
    "L": "13DE 14AA 2CD0 A4E1 1041B",
    "M": "39C 3FA 41C 13B7 15F0 2C98 A4DF",
    "N": "39D 2C9A A4E0",
    "O": "39F 41E 555 2C9E 2D54 A4F3 10404 104C2",
    "P": "3A1 420 13E2 146D 2CA2 A4D1",
    "Q": "2D55",
    "R": "1A6 13A1 13D2 1587 A4E3 104B4",
    "S": "405 54F 13D5 13DA A4E2 10420",
    "T": "3A4 422 13A2 2CA6 A4D4",
    "U": "54D 144C A4F4 104CE",
    "V": "474 13D9 142F 2D38 A4E6",
    "W": "51C 13B3 13D4 A4EA",
    "X": "3A7 425 2CAC 2D5D A4EB A7B3",
    "Y": "3A5 423 4AE 13A9 13BD 2CA8 A4EC",
    "Z": "396 13C3 A4DC",
    "a": "251 3B1 430 1D00",
    "b": "184 299 42C 13CF 1472 15AF",
    "c": "441 1D04 2CA5 ABAF 1043D",
    "d": "501 13E7 146F 1D05 A4D2",
    "e": "435 4BD 1D07 AB32",
    "f": "584 1E9D A730 A799 AB35",
    "g": "18D 261 262 581 1D83",
    "h": "29C 4BB 570 13C2",
    "i": "131 269 26A 3B9 456 4CF 13A5 A647 AB75",
    "j": "3F3 458 1D0A",
    "k": "1D0B",
    "l": "196 1C0 29F",
    "m": "1D0D",
    "n": "274 578 57C",
    "o": "3BF 3C3 43E 585 10FF 1D0F 1D11 2C9F AB3D 1042C 104EA",
    "p": "3C1 440 1D18 2CA3",
    "q": "51B 563 566",
    "r": "280 433 1D26 2C85 AB47 AB48 AB81",
    "s": "1BD 455 A731 ABAA 10448",
    "t": "1D1B",
    "u": "28B 3C5 57D 1D1C A79F AB4E AB52 104F6",
    "v": "3BD 475 1D20 ABA9",
    "w": "26F 461 51D 561 1D21 AB83",
    "x": "445 1541 157D",
    "y": "263 28F 3B3 443 4AF 10E7 1D8C 1EFF AB5A",
    "z": "1D22 AB93",
}  # fmt: skip

# Letters that pass for Latin only inside a word that is otherwise Latin.
_LOOSE = {
    "b": "432 3B2", "e": "3B5", "h": "43D", "k": "43A 3BA", "m": "43C", "n": "43F 3B7",
    "t": "442 3C4", "u": "438 3BC", "w": "448 3C9", "x": "3C7",
}  # fmt: skip

# What a scientist writes beside Latin letters (alpha, mu, sigma) is no disguise by itself.
_SCIENCE = frozenset("αβγδεηκλμπρσςτφχψωΩΔΣΦΠ")


@cache
def strict() -> dict[str, str]:
    """Return the letters that pass for a Latin letter anywhere."""
    return _table(_LIKENESS)


@cache
def loose() -> dict[str, str]:
    """Return the same, and those that pass for one among Latin letters."""
    return {**_table(_LOOSE), **strict()}


@cache
def foreign() -> re.Pattern[str]:
    """Return the pattern of one letter that is in either table."""
    return re.compile(f"[{re.escape(''.join(loose()))}]")


def is_disguise(letter: str) -> bool:
    """Whether a letter among Latin ones has no better reason to stand there than its looks."""
    return letter in strict() and letter not in _SCIENCE


def _table(rows: dict[str, str]) -> dict[str, str]:
    return {chr(int(code, 16)): latin for latin, codes in rows.items() for code in codes.split()}
