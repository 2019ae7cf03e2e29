"""What people say when an agent went another way than it should, in sixteen languages."""

# These are words of other languages, to be read as they are.
# ruff: noqa: RUF001

import pytest
from tests.rows import each_row

from prowess.language.corrections import (
    Correction,
    find_correction,
    is_question,
    objects,
    speaks_of_using_a_skill,
)
from prowess.transcripts.sessions import corrects

WHY = [
    "Why didn't you use the skill we have for that?",
    "Why did you not follow the form skill?",
    "How come you didn't use it?",
    "Warum hast du nicht den Skill benutzt?",
    "Wieso hast du dafür keinen Skill genommen?",
    "Pourquoi tu n'as pas utilisé la compétence ?",
    "Pourquoi n'as-tu pas pris le skill ?",
    "¿Por qué no usaste la skill?",
    "¿Por qué no has usado el skill de pdf?",
    "Perché non hai usato la skill?",
    "Por que você não usou a skill?",
    "Waarom heb je de skill niet gebruikt?",
    "Dlaczego nie użyłeś skilla?",
    "Varför använde du inte skillen?",
    "Neden beceriyi kullanmadın?",
    "Почему ты не использовал скилл?",
    "لماذا لم تستخدم المهارة؟",
    "तुमने स्किल का इस्तेमाल क्यों नहीं किया?",
    "你为什么没用技能？",
    "为什么没有使用pdf技能?",
    "なぜスキルを使わなかったの？",
    "왜 스킬을 안 썼어?",
]
SHOULD_HAVE = [
    "You should have used the real form fields.",
    "You were supposed to flatten it.",
    "you should've just filled the fields",
    "Du hättest die Felder ausfüllen sollen.",
    "Tu aurais dû utiliser la compétence pdf.",
    "Il fallait remplir les champs.",
    "Deberías haber usado la skill de pdf.",
    "Avresti dovuto usare la skill.",
    "Você deveria ter usado a skill.",
    "Je had de skill moeten gebruiken.",
    "Powinieneś był użyć skilla.",
    "Du borde ha använt skillen.",
    "Beceriyi kullanmalıydın.",
    "Надо было использовать скилл.",
    "كان عليك استخدام المهارة.",
    "तुम्हें स्किल का इस्तेमाल करना चाहिए था।",
    "你应该使用pdf技能。",
    "スキルを使うべきでした。",
    "스킬을 사용했어야지.",
]
NOT_SO = [
    "Not like that, please.",
    "So nicht!",
    "Pas comme ça.",
    "Así no.",
    "Così no!",
    "Não era isso que eu queria.",
    "Nee, dat klopt niet.",
    "Nie, to nie tak.",
    "Nej, det är fel.",
    "Hayır, bu yanlış.",
    "Нет, это не то.",
    "لا، هذا خطأ",
    "नहीं, यह गलत है",
    "不是这样的，填字段",
    "そうじゃない。",
    "그게 아니에요.",
]
NEXT_TIME = [
    "In future, always fill the real fields.",
    "In Zukunft immer pdftk verwenden.",
    "Beim nächsten Mal bitte die Felder ausfüllen.",
    "À l'avenir, utilise toujours pdftk.",
    "La prochaine fois, utilise la compétence.",
    "La próxima vez usa pdftk.",
    "La prossima volta usa pdftk.",
    "Da próxima vez use pdftk.",
    "Gebruik voortaan altijd pdftk. Volgende keer graag de skill.",
    "Następnym razem użyj pdftk.",
    "Nästa gång använd pdftk.",
    "Bir dahaki sefere pdftk kullan.",
    "В следующий раз используй pdftk.",
    "في المرة القادمة استخدم pdftk.",
    "अगली बार pdftk का इस्तेमाल करना।",
    "以后都用pdftk。",
    "次回からはpdftkを使ってください。",
    "다음부터는 pdftk를 사용해 주세요.",
]
SKILL = [
    "Use the skill we have for this instead of writing a script.",
    "We have a skill for that.",
    "There's already a pdf skill for this, you know.",
    "Nimm den Skill dafür.",
    "Utilise la compétence qu'on a.",
    "Usa la skill que tenemos.",
]
ORDINARY = [
    # English
    "Use the pdf skill to fill this form.",
    "Do we have a skill for that?",
    "Is there a skill for German invoices?",
    "Write a skill for filling forms.",
    "Add a date picker that only allows dates in the future.",
    "Replace the dialog with a toast instead.",
    "Why is this function needed?",
    "Pourquoi ce test ne passe pas ?",
    "Dlaczego test nie przechodzi?",
    "Varför körs inte testet?",
    "Почему тест не проходит?",
    "لماذا لا يعمل الاختبار؟",
    "यह टेस्ट क्यों नहीं चलता?",
    "为什么这个测试没有通过？",
    "Use the bridge skill to help me. I have an app and want to bind a port.",
    "Explain why the cache isn't used here.",
    "Why do we not cache this?",
    "What should I have for lunch?",
    "Now do the same for the other form.",
    "Not now, first run the tests.",
    "Make the text like this: bold and red.",
    # German
    "Warum wird der Cache nicht benutzt?",
    "Du solltest jetzt Zugriff haben.",
    "Schreib einen Skill für Rechnungen.",
    "Nimm den Skill pdf-forms und fülle das Formular aus.",
    "Die Funktion soll in Zukunft auch Listen annehmen können.",
    "So, jetzt noch die Doku.",
    # French
    "Ajoute une date dans l'avenir.",
    "Tu peux utiliser la compétence pdf pour ce formulaire ?",
    "Merci, et maintenant la documentation.",
    # Spanish
    "¿Por qué no compila este módulo?",
    "La próxima reunión es el lunes, crea un recordatorio.",
    # Italian
    "Perché non compila?",
    "Adesso scrivi i test.",
    # Portuguese
    "Por que não compila?",
    "Agora escreva os testes.",
    # Dutch
    "Waarom werkt de cache niet?",
    "Nee, dank je.",
    "Gebruik de skill pdf-forms voor formulier twee.",
    # Polish
    "Nie, dziękuję.",
    # Swedish
    "Nej, tack.",
    "Lägg till en sida om framtiden.",
    # Turkish
    "Neden bu test başarısız?",
    "Hayır, teşekkürler.",
    "Şimdi testleri yaz.",
    # Russian
    "Теперь напиши тесты.",
    "Мне нужно было добавить поле, добавь ещё одно.",
    # Arabic
    "لا، شكرا",
    # Hindi
    "नहीं, धन्यवाद",
    "अब टेस्ट लिखो।",
    # Chinese
    "你应该已经有权限了。",
    "现在写测试。",
    "用pdf技能填写这个表格。",
    # Japanese
    "なぜテストが失敗するの？",
    "次はテストを書いてください。",
    "スキルを作ってください。",
    # Korean
    "왜 테스트가 실패해?",
    "이제 테스트를 작성해 주세요.",
    "아래 표를 채워 주세요.",
]
CASES = [
    *((Correction.WHY, one) for one in WHY),
    *((Correction.SHOULD_HAVE, one) for one in SHOULD_HAVE),
    *((Correction.NOT_SO, one) for one in NOT_SO),
    *((Correction.NEXT_TIME, one) for one in NEXT_TIME),
    *((Correction.SKILL, one) for one in SKILL),
]


@each_row(("kind", "message"), CASES)
def test_a_correction_is_heard_in_whatever_language_it_comes(
    kind: Correction, message: str
) -> None:
    assert find_correction(message) is kind
    assert corrects(message)


@each_row("message", ORDINARY)
def test_an_ordinary_prompt_corrects_nothing(message: str) -> None:
    assert find_correction(message) is None
    assert not corrects(message)


@each_row("message", [*WHY, *SHOULD_HAVE, *NOT_SO])
def test_what_says_that_it_should_have_gone_otherwise_is_an_objection(message: str) -> None:
    assert objects(message)


@pytest.mark.parametrize("message", ["Use the pdf skill on it.", "Nimm den Skill.", "用技能。"])
def test_the_use_of_a_skill_is_heard_where_nothing_points_back(message: str) -> None:
    assert find_correction(message) is None
    assert speaks_of_using_a_skill(message)


def test_only_the_beginning_of_a_message_is_looked_at() -> None:
    assert find_correction("x" * 400 + " Why didn't you use the skill?") is None


@each_row("piece", ["why ", "skill use ", "nicht ", "a, ", "お使い", "next time "])
def test_a_message_of_one_word_over_and_over_is_read_quickly(piece: str) -> None:
    assert find_correction(piece * 5_000) in {None, *Correction}


@each_row(
    "message",
    [
        "where do we set the timeout",
        "can you tell me why the cache is stale",
        "could you explain how the login works?",
        "explain the retry logic",
        "is the build green",
        "Can you check whether the cache is used?",
        "wie funktioniert das Login?",
        "\u00bfd\u00f3nde se configura el puerto?",
        "pourquoi \u00e7a \u00e9choue ?",
        "кто вызывает этот метод?",
        "как устроена авторизация",
        "这个函数是做什么的",
    ],
)
def test_who_wants_to_know_asks(message: str) -> None:
    assert is_question(message)


@each_row(
    "message",
    [
        "can you lock the back door?",
        "how many signups did we have in may, put it in a csv",
        "why don't you just delete it and run the build again",
        "what I want is a page with a form",
        "How about a retry? Please do it in client.py",
        "can you tell Marta that I am late?",
        "where needed add types",
        "Comment the code",
        "explain in the README how to install it",
        "Как обычно, выкати на стенд",
    ],
)
def test_who_wants_something_done_asks_nothing(message: str) -> None:
    assert not is_question(message)
