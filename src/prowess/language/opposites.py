"""Which wordings ask for the opposite of each other: to lock and to unlock, on and off.

The words of two such tasks are nearly all the same, and so may be their steps, down to the switch
that is tapped; only this tells them apart. A word with a prefix that turns it round is the opposite
of the bare word, whichever it is; a short list has the pairs that look nothing like each other. A
task that says both, or neither, is the opposite of nothing.
"""

import re
from typing import NamedTuple

_WORD = re.compile(r"[^\W\d_]+")
_WIDE = r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]"
# Each with the fewest letters of the word behind it: `unzip`, but not `desk`.
_PREFIXES = (
    ("un", 3), ("dis", 4), ("des", 4), ("d\u00e9s", 4), ("de", 4), ("d\u00e9", 4), ("ent", 4),
)  # fmt: skip
_NO_PREFIX = frozenset(
    ("under", "until", "union", "unite", "united", "unity", "unique", "universe", "university",
     "understand", "unless", "unlike", "uncle", "deploy", "describe", "design", "display",
     "discover", "discuss", "desktop", "device", "detail", "details", "destroy", "delete")
)  # fmt: skip
# In Chinese what is undone is named behind these.
_UNDONE = re.compile(r"(?:\u53d6\u6d88|\u89e3\u9664)(\w\w)")
# Of a verb in a person's words: `stops`, `stopping`.
_ENDINGS = r"(?:s|es|ed|d|ing|ping|ting)?"
_TURN = r"(?:turn|switch|power|toggle|flip|put)(?:s|ed|ing)?"
_ON = rf"(?<!\w){_TURN}\W+(?:\w+\W+){{0,5}}?on(?!\w)"
_OFF = r"(?<!\w)off(?!\w)"
# `ein` and `an` are articles too: as the end of an order they are not.
_EIN, _AUS = r"(?<!\w)(?:ein|an)\W*\Z", r"(?<!\w)aus\W*\Z"
_WAYS = "log|sign|check|clock|zoom|opt"

# By their words, and by patterns where a word would not do.
_PAIRS: tuple[tuple[str, str, str, str], ...] = (
    (
        (
            "enable activate aktivieren aktiviere einschalten anschalten activer active activa"
            " activar attiva attivare ativar ative allumer allume encender enciende accendi ligar"
            " ligue \u0432\u043a\u043b\u044e\u0447\u0438\u0442\u044c"
            " \u0432\u043a\u043b\u044e\u0447\u0438"
        ),
        (
            "disable deactivate deaktivieren deaktiviere d\u00e9sactiver d\u00e9sactive desactivar"
            " desactiva desativar desative ausschalten abschalten \u00e9teindre"
            " \u00e9teins apagar apaga spegni disattiva desligar desligue"
            " \u0432\u044b\u043a\u043b\u044e\u0447\u0438\u0442\u044c"
            " \u0432\u044b\u043a\u043b\u044e\u0447\u0438"
        ),
        (
            rf"{_ON}|{_EIN}|\u6253\u5f00|\u5f00\u542f|\u542f\u7528|\u6fc0\u6d3b|\u30aa\u30f3"
            r"|\u6709\u52b9|\ucf1c"
        ),
        (
            rf"{_OFF}|{_AUS}|\u5173\u95ed|\u5173\u6389|\u505c\u7528|\u7981\u7528|\u30aa\u30d5"
            r"|\u7121\u52b9|\uaebc|\ub044"
        ),
    ),
    (
        (
            "add append insert create hinzuf\u00fcgen anlegen erstellen ajouter ajoute cr\u00e9er"
            " agregar agrega a\u00f1adir a\u00f1ade crear aggiungi adicionar"
            " \u0434\u043e\u0431\u0430\u0432\u0438\u0442\u044c"
            " \u0434\u043e\u0431\u0430\u0432\u044c"
        ),
        (
            "remove delete destroy erase entfernen entferne l\u00f6schen l\u00f6sche supprimer"
            " supprime retirer retire eliminar elimina quitar quita borrar borra rimuovi remover"
            " \u0443\u0434\u0430\u043b\u0438\u0442\u044c \u0443\u0434\u0430\u043b\u0438"
        ),
        r"\u6dfb\u52a0|\u589e\u52a0|\u65b0\u589e|\u521b\u5efa|\u8ffd\u52a0|\ucd94\uac00",
        r"\u5220\u9664|\u79fb\u9664|\u5220\u6389|\u524a\u9664|\uc0ad\uc81c",
    ),
    (
        (
            "start launch boot resume starten starte d\u00e9marrer d\u00e9marre lancer iniciar"
            " inicia arrancar avvia \u0437\u0430\u043f\u0443\u0441\u0442\u0438\u0442\u044c"
        ),
        (
            "stop halt kill terminate shutdown pause suspend stoppen stoppe anhalten beenden"
            " arr\u00eater arr\u00eate detener det\u00e9n parar ferma"
            " \u043e\u0441\u0442\u0430\u043d\u043e\u0432\u0438\u0442\u044c"
        ),
        r"\u542f\u52a8|\u5f00\u59cb|\u958b\u59cb|\uc2dc\uc791",
        r"\u505c\u6b62|\u6682\u505c|\u4e2d\u6b62|\uc911\uc9c0",
    ),
    (
        (
            "open \u00f6ffnen \u00f6ffne ouvrir ouvre abrir abre apri"
            " \u043e\u0442\u043a\u0440\u044b\u0442\u044c"
        ),
        (
            "close shut schlie\u00dfen schlie\u00dfe fermer ferme cerrar cierra fechar chiudi"
            " \u0437\u0430\u043a\u0440\u044b\u0442\u044c"
        ),
        "",
        "",
    ),
    (
        "lock sperren sperre verrouiller bloquear",
        "unlock entsperren d\u00e9verrouiller desbloquear",
        r"\u9501\u5b9a|\u52a0\u9501",
        r"\u89e3\u9501",
    ),
    ("up increase raise upgrade", "down decrease lower reduce downgrade rollback", "", ""),
    ("upload hochladen", "download herunterladen", r"\u4e0a\u4f20", r"\u4e0b\u8f7d"),
    (
        "compress komprimieren komprimiere comprimir compresser",
        "extract unzip unpack entpacken entpacke extraire extraer",
        r"\u538b\u7f29",
        r"\u89e3\u538b",
    ),
    ("encrypt", "decrypt", r"\u52a0\u5bc6", r"\u89e3\u5bc6"),
    ("accept approve allow grant", "reject decline deny refuse revoke", "", ""),
    ("attach", "detach", "", ""),
    ("connect", "disconnect", "", ""),
    ("show", "hide", r"\u663e\u793a", r"\u9690\u85cf"),
    ("import", "export", r"\u5bfc\u5165", r"\u5bfc\u51fa"),
    ("join", "leave", "", ""),
    ("buy", "sell", "", ""),
    ("login", "logout", rf"(?<!\w)(?:{_WAYS})\W+in(?!\w)", rf"(?<!\w)(?:{_WAYS})\W+out(?!\w)"),
)


class Sides(NamedTuple):
    """What a wording says, and what it says the opposite of."""

    said: frozenset[str]
    against: frozenset[str]


def _pattern(words: str, more: str) -> re.Pattern[str]:
    listed = "|".join(map(re.escape, words.split()))
    return re.compile(rf"(?<!\w)(?:{listed}){_ENDINGS}(?!\w)" + (f"|{more}" if more else ""))


_FAMILIES = tuple(
    (f"{one.split()[0]}.", _pattern(one, more), _pattern(other, other_more))
    for one, other, more, other_more in _PAIRS
)


def sides_of(wording: str) -> Sides:
    """Return on which sides a task stands; give it without the values that were typed."""
    text = wording.casefold()
    words = set(_WORD.findall(text))
    undone = set(_UNDONE.findall(text))
    turned = {word[len(prefix) :] for word in words for prefix, _ in _fitting(word)}
    pairs = re.findall(rf"(?=({_WIDE}{_WIDE}))", _UNDONE.sub(" ", text))
    said, against = words | set(pairs), turned | undone
    for name, one, other in _FAMILIES:
        is_one, is_other = bool(one.search(text)), bool(other.search(text))
        # Whoever turns something off may do it on a phone.
        if name == _FAMILIES[0][0] and is_other and not _SURELY_ON.search(text):
            is_one = False
        said |= {name} if is_one else set()
        against |= {name} if is_other else set()
    both = said & against
    return Sides(frozenset(said - both), frozenset(against - both))


_SURELY_ON = re.compile(r"(?<!\w)(?:enabl|activat|aktivier|turn(?:s|ed|ing)? on(?!\w))")


def are_opposed(one: Sides, other: Sides) -> bool:
    """Return whether one wording asks for the opposite of what the other asks for."""
    return not (one.said.isdisjoint(other.against) and one.against.isdisjoint(other.said))


def undone_in(wording: str) -> frozenset[str]:
    """Return what a wording turns round, as far as that is certain; nothing for its opposite."""
    sides = sides_of(wording)
    listed = {one for one in sides.against if one.endswith(".")}
    words = _WORD.findall(wording.casefold())
    turned = {word for word in words if word.startswith("un") and word[2:] in sides.against}
    return frozenset(listed | turned | (set(_UNDONE.findall(wording)) & sides.against))


def joined(one: Sides, other: Sides) -> Sides:
    """Return the sides of two wordings of one goal together."""
    return Sides(one.said | other.said, one.against | other.against)


def _fitting(word: str) -> list[tuple[str, int]]:
    return [
        (prefix, fewest)
        for prefix, fewest in _PREFIXES
        if word.startswith(prefix) and len(word) - len(prefix) >= fewest and word not in _NO_PREFIX
    ]
