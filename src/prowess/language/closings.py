"""What an agent's last words say about its task: whether they admit that it is not done.

A log has no other witness, so doubt counts as not done. But most last words tell of failures that
are over (`fixed the failing test`), that would be (`if it still fails`) or that a program reports
(`returns an error when the file could not be read`). So each clause is read on its own, what is
quoted is not read at all, and a failure counts where the agent, its tests or its result has it now.
"""

import re
from collections.abc import Iterator

# How much is read; who reports begins or ends with how it went.
MOST_CLOSING = 3_000
_MOST_CLAUSES = 400

_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|\u201c[^\u201d\n]{1,300}\u201d"
    r"|\u00ab[^\u00bb\n]{1,300}\u00bb|^\s{0,3}>[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_END = re.compile(
    r"(?<=[.!?:])\s|[\n;\u3002\uff01\uff1f\uff1b]|\s[\u2013\u2014-]\s"
    r"|,?\s(?=(?:but|however|although|though|yet|aber|jedoch|mais|pero|sin embargo|\u043d\u043e)\s)"
    r"|(?=\u4f46\u662f?|\u4e0d\u8fc7|\u4e0d\u904e|\u7136\u800c)"
)
_BULLET = re.compile(r"\s{0,9}(?:[-*\u2022+]|\d{1,3}[.)]|\[.\])\s")

_CONDITION = re.compile(
    r"\b(?:if|should you|should it|in case|unless|whenever|when|whether|until|so that|wenn|falls"
    r"|sobald|quand|lorsque|au cas|cuando|en caso|\u0435\u0441\u043b\u0438)\b|\bsi\s"
    r"|\u5982\u679c|\u82e5|\u5f53"
)
# A failure that the same clause calls over, or denies.
_OVER = re.compile(
    r"\bno longer\b|\bany ?more\b|\bnow\s(?:\w{1,20}\s){0,2}?(?:pass|work|succe|green|run|compil"
    r"|build|fine|ok\b|clean|return|report|handle|raise|throw|show)|\b(?:pass(?:es|ed)?|works?"
    r"|green"
    r"|fine)\s(?:again|now)\b|\b(?:fix(?:ed|es|ing)|resolv(?:ed|es|ing)|solved|solves|repair(?:ed"
    r"|s)"
    r"|correct(?:ed|s)|handl(?:ed|es|ing)|address(?:ed|es)|eliminat(?:ed|es)|remov(?:ed|es)|gone)\b"
    r"|\b(?:was|were|had been|used to|previously|earlier|originally|before|initially|at first"
    r"|first)\b|\b(?:no|none|nothing|never|zero|0|without|kein\w{0,2}|sans|aucun\w?"
    r"|ning[u\u00fa]n\w?"
    r"|sin)\s"
    r"|\bbehoben|\brepariert|\bkorrigiert|\bgel\u00f6st\b|\bnicht mehr\b|\bcorrig\w|\br\u00e9solu"
    r"|\bne?\s\w+ plus\b"
    r"|\barreglad|\bsolucionad|\bya no\b|\u0438\u0441\u043f\u0440\u0430\u0432"
    r"|(?:\u4fee\u590d|\u89e3\u51b3|\u4fee\u5fa9|\u89e3\u6c7a|\u4fee\u6b63)\u4e86"
    r"|\u5df2(?:\u7ecf|\u7d93)?(?:\u4fee|\u89e3)|\u4fee\u597d|\u4e0d\u518d|\u6ca1\u6709\u5931"
    r"|\u6c92\u6709\u5931"
)
_WELL = re.compile(
    r"\b(?:all|every)\b[^.]{0,40}\b(?:pass|works?|green|done)|\b(?:pass(?:es)?|works?)\b(?! not)"
    r"|\b(?:succe\w{2,9}|fixed|resolved|solved|done|green|complete[ds]?|finished)\b"
    r"|\bjetzt\b|\berledigt|\bfertig|\u6210\u529f|\u5b8c\u6210|\u901a\u8fc7"
)

# Said of oneself: nothing else in the clause takes that back.
_OWN = re.compile(
    r"\b(?:i|we)(?:['\s](?:am|m|was|were|have|ve|had|re|are|just|simply|still|also|currently"
    r"|therefore|unfortunately|ultimately|was still|actually|really)){0,4}\s"
    r"(?:could\s?n[o']?t|can['\s]?(?:no)?t|cannot|wasn't able|weren't able|(?:not|un)able|failed\b"
    r"|(?:did\snot|didn't|haven't|have not)\s(?:manage|succeed|complete|finish|get it|fix|solve"
    r"|been able)|not\s(?:manage|succe|been able|able)|g[ai]ve(?:n)?\sup|giving\sup|got\sstuck"
    r"|stuck"
    r"|blocked|ran\sout\sof|do(?:n't|\snot)\shave\s(?:access|permission|the\s(?:right|permission))"
    r"|(?:had|have|need|will have)\s(?:to\s)?(?:stop|abort|abandon|give up))"
    r"|\b(?:wasn't|weren't|was not|were not|am not|i'm not)\sable\sto\b|\bgiving up\b"
    r"|\b(?:it|this|that)(?:\s(?:is|was)|'s)\s(?:not\spossible|impossible)\b"
    r"|\b(?:it|this|that)\s(?:isn't|wasn't)\spossible\b"
    r"|\b(?:is|are|was|were|been|still)(?:n't|\snot)\s(?:(?:yet|fully|really)\s)?(?:fixed|resolved"
    r"|solved"
    r"|repaired|corrected|done|finished|completed?)\b"
    r"|\bto no avail\b|\bwithout (?:any )?success\b|\bunsuccessful|\bno luck\b|\bin vain\b"
    r"|\b(?:ich|wir)\b[^.]{0,60}\b(?:konnten?|kann|k\u00f6nnen|schaffe"
    r"|komme)\b[^.]{0,90}\bnicht\b(?! mehr)"
    r"|\b(?:konnten?|kann|k\u00f6nnen)\s(?:ich|wir|es|das|den|die"
    r"|leider)\b[^.]{0,90}\bnicht\b(?! mehr)"
    r"|\bnicht\s(?:gelungen|geschafft|m\u00f6glich)\b|\bgescheitert\b|\b(?:gebe"
    r"|gab)\b[^.]{0,20}\bauf\b"
    r"|\baufgegeben\b|\bmir\sfehl(?:t|en)\b"
    r"|\bje\s(?:n'ai|ne|n'arrive|n'y)\b[^.]{0,30}\bpas\b|\bimpossible de\b"
    r"|\bj'ai (?:\u00e9chou\u00e9|abandonn\u00e9)"
    r"|\bje suis bloqu\u00e9"
    r"|\bno\s(?:he\s|pude|puedo|hemos\s)(?:podido|logrado|conseguido)?|\bno\s(?:logr\u00e9"
    r"|consegu\u00ed)\b"
    r"|\bno\s(?:fue|ha sido|es)\sposible\b|\bme rindo\b|\bestoy bloquead"
    r"|\bn\u00e3o\s(?:consegui|pude|foi poss\u00edvel)|\bnon\s(?:sono riuscit|ho potuto|riesco)"
    r"|\u043d\u0435\s(?:\u0443\u0434\u0430\u043b\u043e\u0441\u044c|\u0441\u043c\u043e\u0433"
    r"|\u043c\u043e\u0433\u0443|\u043f\u043e\u043b\u0443\u0447\u0438\u043b\u043e\u0441\u044c)"
)
# One of these stands in whatever is found below, where it is written without accents.
_STEMS = (
    *("not", "n't", "cant", "able", "fail", "stuck", "block", "ran out", "impossible", "avail"),
    *("succe", "luck", "vain", "nicht", "gescheitert", "aufge", " auf", "pas", "bloque", "no "),
    *("non ", "could", "abort", "still", "keep", "continue", "remain", "broken", "red"),
    *("stop", "aband", "up", "sigue", "falla", "fehl", "need", "requir", "please", "you", "bitte"),
    *("brauch", "besoin", "veuillez", "merci", "necesito", "por favor", "kaputt", "rot", "fallo"),
    *("error", "rindo", "unresolved"),
)  # fmt: skip
# Words that were looked for in vain, which is good.
_FOUND_NOTHING = re.compile(
    r"\b(?:find|see|spot|detect|identify|reproduce)\s(?:any|no|other|more|further|the (?:bug|error"
    r"|issue|problem))\b"
)
_START = re.compile(
    r"\W{0,9}(?:(?:sorry|unfortunately|apologies|leider|d\u00e9sol\u00e9e?|lo siento"
    r"|\u62b1\u6b49)\W{1,4})?"
    r"(?:could\s?n[o']?t\s|cannot\s|can't\s|unable\sto\b|failed\sto\b|not\sable\sto\b"
    r"|blocked\s(?:by|on)\b"
    r"|(?:failed|failure|error|aborted|blocked|gave up|not done|impossible|fehlgeschlagen"
    r"|\u00e9chec|fallo)"
    r"\s{0,2}(?:[:.!,]|\Z))"
)
# Of something that is there now.
_NOW = re.compile(
    r"\b(?:still|keeps?|continues? to|remains?)\s(?:\w{1,20}\s){0,2}?(?:fail|broken|crash|red\b"
    r"|errors?\b"
    r"|throw|hang|wrong|missing|unresolved|unfixed|reproduc|block|not\s|doesn't|does not|don't"
    r"|isn't|aren't|can't)"
    r"|\b(?:tests?|suite|build|checks?|ci|pipeline|compilation|deploy\w{0,6}|lint\w{0,3}|command"
    r"|script"
    r"|install\w{0,6}|migration|fix|change|bug|error|issue|problem|task|work|it|this|everything)\s"
    r"(?:(?:is|are|has|have|been|all|also|now|just|currently|yet)\s){0,3}"
    r"(?:fails?\b|failing\b|broken\b|blocked\b|unresolved\b|red\b|not\s(?:yet\s)?(?:work|pass"
    r"|compil|build|fix"
    r"|done|solved|resolved|complete|finished|implemented|possible|succe)|(?:does|do|is|are"
    r"|has)(?:n't|\snot)\s"
    r"(?:(?:yet|been|fully|really)\s){0,2}(?:work|pass|compil|build|fix|run|start|done|solv|resolv"
    r"|complet|finish|succe|implement))"
    r"|\b(?:does|do)(?:n't|\snot)\swork\b"
    r"|\b(?:progress|task|work)\s(?:is|was|remains)\sblocked\b"
    r"|\b[1-9]\d{0,5}\s(?:of\s(?:the\s)?\d{1,6}\s)?(?:(?:tests?|specs?|checks?|cases?)\s)?(?:are\s"
    r"|still\s|have\s){0,2}fail(?:ed|ing|ures?|s)?\b"
    r"|\bschl(?:\u00e4gt|agen)\b[^.]{0,40}\bfehl\b|\b(?:funktionier|geh|klapp|l\u00e4uf)(?:t"
    r"|en)\b[^.]{0,30}\bnicht\b"
    r"|\bimmer noch\s(?:\w{1,20}\s){0,2}(?:fehler|rot|kaputt|nicht)|\bblockiert\b"
    r"|\b\u00e9chou(?:e|ent)\b|\ben \u00e9chec\b|\bne\s(?:fonctionne|marche"
    r"|passe)(?:nt)?\b[^.]{0,20}\bpas\b|\bbloqu\u00e9e? par\b"
    r"|\bsiguen?\s(?:fallando|sin\s|dando)|\b(?:a\u00fan|todav\u00eda)\sfalla|\bno\s(?:funcionan?"
    r"|pasan?|compila)\b|\bbloquead[oa] por\b"
    r"|\b(?:n\u00e3o|non)\s(?:funciona|funziona)"
    r"|\u043d\u0435\s(?:\u0440\u0430\u0431\u043e\u0442\u0430|\u043f\u0440\u043e\u0445\u043e\u0434"
    r"|\u0441\u043e\u0431\u0438\u0440\u0430)"
    r"|\u043f\u043e-\u043f\u0440\u0435\u0436\u043d\u0435\u043c\u0443"
    r"|\u65e0\u6cd5|\u7121\u6cd5|\u672a\u80fd|\u6ca1\u80fd|\u6c92\u80fd|\u6ca1\u6709\u6210\u529f"
    r"|\u4e0d\u6210\u529f"
    r"|(?:\u4ecd\u7136|\u4ecd|\u8fd8\u662f|\u9084\u662f|\u4f9d\u7136"
    r"|\u4ecd\u65e7)[^\u3002]{0,6}(?:\u5931|\u62a5\u9519|\u5831\u932f|\u4e0d|\u9519"
    r"|\u6709\u95ee\u9898)"
    r"|\u505a\u4e0d\u5230|\u4e0d\u80fd\u5b8c\u6210|\u653e\u5f03|\u653e\u68c4|\u5361\u4f4f"
    r"|\u963b\u585e|\u963b\u6b62\u4e86"
    r"|\u3067\u304d\u307e\u305b\u3093|\u52d5\u304d\u307e\u305b\u3093"
    r"|\u3046\u307e\u304f\u3044\u304d\u307e\u305b\u3093"
    r"|\ud560 \uc218 \uc5c6|\ubabb\ud588"
)
# Of something that was; told on the way to a good end, it is a part of the story.
_THEN = re.compile(
    r"\b(?:tests?|build|suite|task|deploy\w{0,6}|command|script|attempts?|install\w{0,6}|fix"
    r"|change|patch"
    r"|it|this|that|everything|run)\s"
    r"(?:(?:has|have|all|also)\s){0,2}(?:failed\b|(?:did\snot|didn't)\s(?:work|help|succeed|pass"
    r"|fix|finish))"
    r"|\bfehlgeschlagen\b|\bhat(?:te)? nicht (?:funktioniert|geklappt)|\b(?:a"
    r"|ont) \u00e9chou\u00e9|\b(?:ha|han) fallado\b"
    r"|\bfall(?:\u00f3|aron)\b|\u5931\u8d25|\u5931\u6557|\uc2e4\ud328"
)
_ASKS = re.compile(
    r"\b(?:i|we)(?:'ll|\swill|\sstill|\swould)?\s(?:need|require)\s(?:your\b|you\b|more\s(?:info"
    r"|detail|context)|access"
    r"|permission|further\s(?:info|detail|input)|additional\s(?:info|detail)|clarification"
    r"|the\s(?:following|password|credential|api|token|missing))"
    r"|\bneed(?:s)?\s(?:your\s(?:help|input|permission|approval|credential|password|decision)"
    r"|you\sto\b)"
    r"|\bplease\s(?:provide|share|tell\sme|give\sme|send\sme|clarify|grant|advise|specify|log\s?in"
    r"|sign\sin"
    r"|let\sme\sknow\s(?:which|what|how|where))"
    r"|\b(?:could|can)\syou\s(?:please\s)?(?:provide|share|clarify|tell\sme|grant|send|specify)"
    r"|\bwaiting\s(?:for|on)\s(?:your|you)\b"
    r"|\bbrauche\b[^.]{0,30}\b(?:hilfe|zugriff|zugang|angabe)"
    r"|\bben\u00f6tige\b[^.]{0,40}\b(?:hilfe|zugriff|zugang|angabe|passwort)"
    r"|\bbitte\s(?:gib|geben|teil|stell|nenn|schick|sende)"
    r"|\bbesoin\sde\s(?:votre|ton|vos|tes)\b|\b(?:veuillez|merci de)\s(?:me\s)?(?:fournir"
    r"|pr\u00e9ciser|indiquer|donner)"
    r"|\bnecesito\s(?:tu|su|m\u00e1s|que|acceso)\b|\bpor favor,?\s(?:proporcion|indi[cq]|facilit"
    r"|env\u00ed)"
    r"|\u9700\u8981(?:\u4f60|\u60a8)|(?:\u8bf7|\u8acb)(?:\u63d0\u4f9b|\u544a\u8bc9|\u544a\u8a34)"
    r"|\u6559\u3048\u3066\u304f\u3060\u3055\u3044"
)


def says_not_done(message: str) -> bool:
    """Return whether an agent's last words admit that its task is not done."""
    ends_well = False
    is_story = False
    if not _may_admit(message):
        return False
    for clause, is_bullet in _clauses(message):
        if not _may_admit(clause):
            ends_well = ends_well or _WELL.search(clause) is not None
            continue
        condition = _CONDITION.search(clause)
        fact = clause[: condition.start()] if condition else clause
        if _admits(fact, is_bullet=is_bullet) or _ASKS.search(fact):
            return True
        if not clause.endswith(("?", "\uff1f")) and _is_there(_NOW, fact):
            return True
        told = _is_there(_THEN, fact)
        is_story |= told
        ends_well |= not told and _WELL.search(fact) is not None
    return is_story and not ends_well


def _may_admit(message: str) -> bool:
    """Return whether a text needs a closer look, which is slow."""
    if not message.isascii() or len(message) > MOST_CLOSING:
        return True
    text = message.lower()
    return any(stem in text for stem in _STEMS)


def _clauses(message: str) -> Iterator[tuple[str, bool]]:
    """Yield each clause in small letters, and whether it is an item of a list."""
    if len(message) > MOST_CLOSING:
        half = MOST_CLOSING // 2
        message = f"{message[:half]}\n{message[-half:]}"
    text = _QUOTED.sub(" x ", message).replace("\u2019", "'").replace("**", "").replace("_", " ")
    for clause in _END.split(text.lower(), maxsplit=_MOST_CLAUSES):
        words = " ".join(clause.split())
        if words:
            yield words, _BULLET.match(clause) is not None


def _admits(clause: str, *, is_bullet: bool) -> bool:
    if _OWN.search(clause):
        return _FOUND_NOTHING.search(clause) is None
    return not is_bullet and _START.match(clause) is not None and _OVER.search(clause) is None


def _is_there(pattern: re.Pattern[str], clause: str) -> bool:
    return pattern.search(clause) is not None and _OVER.search(clause) is None
