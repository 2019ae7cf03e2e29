"""The oldest tricks in languages other than English.

One row a language. Where a Cyrillic word follows the mark of a word's edge, the string is broken
between the two: the Latin letter of the mark would make a reader take the word for a disguise.
"""

import re
from collections.abc import Iterator
from itertools import islice

from prowess.safety.sighting import Sighting
from prowess.safety.views import Spot, View


def _any(*rows: str) -> re.Pattern[str]:
    return re.compile("|".join(rows), re.IGNORECASE)


# "Set aside the instructions before this", as people write it elsewhere.
_OVERRIDE = _any(
    # Chinese
    (
        r"(?:忽略|无视|忘记|不要理会|忽視|無視|忘記)[^\n。]{0,12}"
        r"(?:之前|先前|以上|前面|此前|原有|所有|系统|系統)[^\n。]{0,10}"
        r"(?:指令|指示|提示|规则|規則|说明|命令)"
    ),
    # Japanese
    (
        r"(?:以前|これまで|前|上記|すべて)の[^\n。]{0,8}"
        r"(?:指示|命令|ルール|プロンプト)[^\n。]{0,6}(?:無視|忘れ)"
    ),
    # Korean
    r"(?:이전|앞의|모든)[^\n.]{0,10}(?:지시|명령|지침|규칙)[^\n.]{0,6}(?:무시|잊)",
    # Russian
    (
        r"(?:проигнорируй\w*|игнорируй\w*|забудь\w*|не\s+обращай\w*\s+внимания\s+на)\s[^\n.]{0,30}"
        r"(?:предыдущ|прежн|прошл|выше|систем)\w*[^\n.]{0,20}(?:инструкци|указани|правил|команд)"
    ),
    # Ukrainian
    (
        r"(?:ігноруй\w*|забудь\w*)\s[^\n.]{0,30}(?:попередн|системн)\w*\s[^\n.]{0,20}"
        r"(?:інструкці|вказівк|правил)"
    ),
    # Spanish
    (
        r"\b(?:ignora|ignorá|olvida|descarta|omite|haz\s+caso\s+omiso\s+de)\b[^\n.]{0,30}"
        r"\b(?:instrucciones|indicaciones|reglas|órdenes)\b[^\n.]{0,20}"
        r"\b(?:anteriores|previas|del\s+sistema)\b"
    ),
    # Italian
    (
        r"\b(?:ignora|ignori|dimentica|trascura)\b[^\n.]{0,30}"
        r"\b(?:istruzioni|regole|indicazioni)\b[^\n.]{0,20}\b(?:precedenti|di\s+sistema)\b"
    ),
    # French
    (
        r"\b(?:ignore|ignorez|oublie|oubliez"
        r"|ne\s+(?:tiens?|tenez)\s+(?:pas|plus)\s+compte\s+d\w+)\b[^\n.]{0,30}"
        r"\b(?:instructions|consignes|règles|directives)\b[^\n.]{0,20}"
        r"\b(?:précédentes|antérieures|ci-dessus|du\s+système)\b"
    ),
    # Portuguese
    (
        r"\b(?:ignor(?:e|em|ar)|esque[çc]a|desconsidere)\b[^\n.]{0,30}"
        r"\b(?:instruções|regras|orientações)\b[^\n.]{0,20}\b(?:anteriores|prévias|do\s+sistema)\b"
    ),
    # German
    (
        r"\b(?:ignoriere|ignorieren\s+sie|vergiss|vergessen\s+sie|missachte)\b[^\n.]{0,30}"
        r"\b(?:vorherig|bisherig|früher|vorig|obig)\w*\b[^\n.]{0,20}"
        r"\b(?:anweisung|regel|instruktion|vorgabe)\w*"
    ),
    # Dutch
    (
        r"\b(?:negeer|vergeet)\b[^\n.]{0,30}\b(?:vorige|eerdere|voorgaande)\b[^\n.]{0,20}"
        r"\b(?:instructies|regels|aanwijzingen)\b"
    ),
    # Polish
    (
        r"\b(?:zignoruj|ignoruj|zapomnij)\b[^\n.]{0,30}"
        r"\b(?:poprzedni|wcześniejsz)\w*\b[^\n.]{0,20}\b(?:instrukcj|polece|zasad)\w*"
    ),
    # Turkish
    (
        r"\b(?:önceki|yukar\u0131daki)\b[^\n.]{0,20}\b(?:talimat|kural)\w*\b[^\n.]{0,20}"
        r"\b(?:yok\s+say|unut|dikkate\s+alma)"
    ),
    # Vietnamese
    r"\b(?:bỏ\s+qua|quên)\b[^\n.]{0,20}(?:hướng\s+dẫn|chỉ\s+thị|lệnh)[^\n.]{0,12}(?:trước|trên)",
    # Arabic
    r"(?:تجاهل|انس)[^\n.]{0,20}(?:التعليمات|الأوامر|القواعد)[^\n.]{0,14}(?:السابقة|أعلاه)",
    # Hindi
    r"(?:पिछले|पूर्व)[^\n।]{0,16}(?:निर्देश|नियम)\w*[^\n।]{0,12}(?:अनदेखा|भूल|नज़रअंदाज़)",
)
# "Do not tell the user."
_HUSH = _any(
    # Chinese
    (
        r"(?:不要|别|請勿|请勿|切勿|不得)[^\n。]{0,4}(?:告诉|通知|提及|告知|透露|向)[^\n。]{0,8}"
        r"(?:用户|使用者|用戶)"
    ),
    # Japanese
    r"ユーザー[^\n。]{0,6}(?:に)?[^\n。]{0,6}(?:言わない|知らせない|伝えない|教えない|報告しない)",
    # Korean
    r"사용자(?:에게)?[^\n.]{0,8}(?:알리지|말하지|언급하지)",
    # Russian
    (
        r"\b"
        r"не\s+(?:говори\w*|сообщай\w*|рассказывай\w*|упоминай\w*|уведомляй\w*)\b[^\n.]{0,24}\b"
        r"пользовател\w*"
    ),
    # Spanish
    (
        r"\bno\s+(?:le\s+|se\s+lo\s+|lo\s+)?(?:digas|informes|menciones|avises|reveles|notifiques"
        r"|comuniques)\b[^\n.]{0,24}\b(?:usuario|usuaria)\b"
    ),
    # French
    (
        r"\bne\s+(?:le\s+|l'en\s+|pas\s+)?(?:dis|dites|informe|informez|mentionne|mentionnez"
        r"|préviens|révèle)\w*\b[^\n.]{0,30}\butilisateur"
    ),
    # Portuguese
    r"\bnão\s+(?:conte|diga|informe|mencione|avise|revele|notifique)\b[^\n.]{0,24}\busuário",
    # German
    (
        r"\b(?:sag|sage|sagen\s+sie|erzähle|verrate|teile|informiere)\b[^\n.]{0,16}"
        r"\b(?:nutzer|benutzer|anwender)\w*\b[^\n.]{0,16}\b(?:nicht|nichts)\b"
    ),
    # Italian
    r"\bnon\s+(?:dire|informare|menzionare|rivelare|avvisare)\b[^\n.]{0,24}\butente\b",
)
# "Behind the back of the user."
_UNKNOWN_TO_USER = _any(
    # French
    (
        r"\bsans\s+(?:en\s+parler|le\s+dire|en\s+informer|informer|prévenir|avertir)\b[^\n.]{0,24}"
        r"\butilisateur"
    ),
    r"à\s+l'insu\s+de\s+l'utilisateur",
    # Spanish
    r"\bsin\s+(?:decir\w*|informar\w*|avisar\w*|que\s+lo\s+sepa)\b[^\n.]{0,24}\busuari",
    # Portuguese
    r"\bsem\s+(?:avisar|informar|dizer|contar)\b[^\n.]{0,24}\busuári",
    # German
    r"\bohne\s+(?:dass\s+)?(?:es\s+)?(?:dem|den|der|die)\s+(?:nutzer|benutzer|anwender)\w*\b",
    # Italian
    r"\bsenza\s+(?:dire|informare|avvisare|dirlo)\w*\b[^\n.]{0,24}\butente",
    # Russian
    r"без\s+ведома\s+пользовател",
    r"не\s+сообщая\s+[^\n.]{0,16}пользовател",
    r"незаметно\s+для\s+пользовател",
    # Chinese
    r"(?:瞒着|背着|不让)[^\n。]{0,6}用户",
    r"用户[^\n。]{0,4}不知情",
    # Japanese
    r"ユーザー(?:に|には)?(?:知られ|気づかれ|内緒)",
    # Korean
    r"사용자\s*모르게",
)
# "Send the secrets to this address."
_SEND = _any(
    # Chinese
    r"(?:发送|发到|上传|傳送|上傳|提交|转发)[^\n。]{0,20}https?://",
    (
        r"(?:环境变量|密钥|密码|凭证|私钥|環境變數|密碼|金鑰)[^\n。]{0,16}"
        r"(?:发送|上传|发给|发到|提交|傳送|上傳)"
    ),
    # Japanese
    r"(?:環境変数|秘密鍵|パスワード|認証情報|APIキー)[^\n。]{0,20}(?:送信|アップロード|転送)",
    # Russian
    (
        r"\b(?:отправ|загруз|перешл|скопиру)\w*\b[^\n.]{0,50}"
        r"(?:переменн\w+\s+окружени|ключ|парол|токен|секрет|учетн|учётн)\w*[^\n.]{0,60}https?://"
    ),
    # Spanish
    (
        r"\b(?:envía|envia|sube|manda|remite|publica)\w*\b[^\n.]{0,50}"
        r"\b(?:variables\s+de\s+entorno|contraseñas|claves|credenciales|secretos|tokens"
        r"|\.env)\b[^\n.]{0,60}https?://"
    ),
    # French
    (
        r"\b(?:envoie|envoyez|téléverse|transmets|transmettez|poste)\w*\b[^\n.]{0,50}"
        r"\b(?:variables\s+d'environnement|mots\s+de\s+passe|clés|identifiants|secrets"
        r"|\.env)\b[^\n.]{0,60}https?://"
    ),
    # German
    (
        r"\b(?:sende|senden|schick|schicke|lade|übertrage|übermittle)\w*\b[^\n.]{0,50}"
        r"\b(?:umgebungsvariablen|passwörter|schlüssel|zugangsdaten|geheimnisse|tokens"
        r"|\.env)\b[^\n.]{0,60}https?://"
    ),
    # Portuguese
    (
        r"\b(?:envie|mande|carregue|transmita|publique)\b[^\n.]{0,50}"
        r"\b(?:variáveis\s+de\s+ambiente|senhas|chaves|credenciais|segredos|\.env)\b[^\n.]{0,60}"
        r"https?://"
    ),
)
_NEGATED = re.compile(
    r"(?:\b(?:не|no|nunca|não|ne|jamais|non|nicht|niemals|nie|niet)\s+"
    r"|不要|请勿|切勿|不得|不应|勿|絶対に)$",
    re.IGNORECASE,
)
_OPENED = re.compile('["\u201c\u00ab\u300c\u2018]\\s*$')
# How far before a trick a "not" or a quotation mark is looked for.
_BEFORE = 12
_PER_KIND = 50
# Without one of these words, or a letter of another script, the costly patterns need not be tried.
_ASCII_ANCHORS = (
    "instruccion",
    "istruzion",
    "consignes",
    "anweisung",
    "instructies",
    "instrukcj",
    "talimat",
    "usuari",
    "utilisateur",
    "nutzer",
    "utente",
    "variables de entorno",
    "umgebungsvariab",
    "credencial",
    "contrase",
    "mots de passe",
    "senhas",
)
_ANCHORS = (
    *_ASCII_ANCHORS,
    "environnement",
    "précédent",
    "antérieur",
    "instruções",
    "instruçoes",
    "instrucões",
    "instrucoes",
    "usuário",
)
_SCRIPTS = re.compile(
    r"[\u0400-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af\u1e00-\u1eff]"
)
_PREREQUISITE = re.compile(
    r"(?:下载|下載|ダウンロード|다운로드)[^\n]{0,120}https?://[^\n]{0,200}(?:密码|密碼|パスワード|비밀번호)"
    r"|https?://[^\n]{0,160}(?:粘贴|貼上|貼り付け|붙여넣)[^\n]{0,16}(?:终端|終端|ターミナル|터미널|命令)"
    r"|(?:скача|загруз)\w*[^\n]{0,120}https?://[^\n]{0,160}парол",
    re.IGNORECASE,
)  # fmt: skip
_TONGUES = (
    (
        "prompt-injection-ignore-instructions",
        _OVERRIDE,
        "tells the agent to set aside the instructions that it was given",
    ),
    ("concealment", _HUSH, "tells the agent to keep something from the person it works for"),
    (
        "concealment",
        _UNKNOWN_TO_USER,
        "tells the agent to act behind the back of the person it works for",
    ),
    ("collect-and-send", _SEND, "tells the agent to collect private data and send it away"),
    (
        "fake-prerequisite",
        _PREREQUISITE,
        "asks for a download from an unknown place before the skill can be used",
    ),
)


def tongue_marks(view: View) -> Iterator[Sighting]:
    """Yield the tricks that `view` plays in another language than English, one of each kind."""
    if not _may_be_foreign(view.text):
        return
    for rule, pattern, message in _TONGUES:
        seen = [
            Sighting(rule, Spot(view, *found.span()), message, lowered_by=_lowered(rule, found))
            for found in islice(pattern.finditer(view.text), _PER_KIND)
        ]
        # A quotation before it must not hide the order that is meant.
        yield from sorted(seen, key=lambda one: len(one.lowered_by))[:1]


def _may_be_foreign(text: str) -> bool:
    lowered = text.lower()
    if text.isascii():
        return any(word in lowered for word in _ASCII_ANCHORS)
    return _SCRIPTS.search(text) is not None or any(word in lowered for word in _ANCHORS)


def _lowered(rule: str, found: re.Match[str]) -> tuple[str, ...]:
    before = found.string[max(0, found.start() - _BEFORE) : found.start()]
    if _OPENED.search(before):
        return ("quoted",)
    # A concealment has its own "not".
    return ("negated",) if rule != "concealment" and _NEGATED.search(before) else ()
