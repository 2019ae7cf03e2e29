"""What people say when an agent went another way than it should, in sixteen languages."""

# These are words of other languages, to be read as they are.
# ruff: noqa: RUF001

import pytest
from tests.rows import each_row

from prowess.language.corrections import (
    Correction,
    find_correction,
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
    "So nicht! Nimm den Skill dafür.",
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
INSTEAD = [
    "Please don't draw text on top; fill the fields instead.",
    "Bitte nicht darüber zeichnen, sondern die Felder ausfüllen.",
    "No dibujes texto encima, rellena los campos en su lugar.",
    "不要画文字，而是填写字段。",
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
    "You should have access to the repository now.",
    "You should have received the file that I uploaded.",
    "In the future we may use Kafka, so keep the interface small.",
    "Add a date picker that only allows dates in the future.",
    "Replace the dialog with a toast instead.",
    "Refactor the reader to use async instead of threads.",
    "Why is this function needed?",
    "I don't want to run Python. Walk me through the test in the browser instead.",
    "Use the bridge skill to help me. I have an app and want to bind a port.",
    "On Tuesday you are supposed to have a meeting.",
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
    "Nicht vergessen: die Tests laufen lassen.",
    # French
    "Pourquoi ce test ne passe pas ?",
    "Ajoute une date dans l'avenir.",
    "Tu peux utiliser la compétence pdf pour ce formulaire ?",
    "Merci, et maintenant la documentation.",
    # Spanish
    "¿Por qué no compila este módulo?",
    "Ahora usa la skill de pdf con el segundo archivo.",
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
    "Dlaczego test nie przechodzi?",
    "Nie, dziękuję.",
    "Nie zapomnij dodać testów.",
    # Swedish
    "Varför körs inte testet?",
    "Nej, tack.",
    "Lägg till en sida om framtiden.",
    # Turkish
    "Neden bu test başarısız?",
    "Hayır, teşekkürler.",
    "Şimdi testleri yaz.",
    # Russian
    "Почему тест не проходит?",
    "Теперь напиши тесты.",
    "Мне нужно было добавить поле, добавь ещё одно.",
    # Arabic
    "لماذا لا يعمل الاختبار؟",
    "لا، شكرا",
    "الآن اكتب الاختبارات.",
    # Hindi
    "यह टेस्ट क्यों नहीं चलता?",
    "नहीं, धन्यवाद",
    "अब टेस्ट लिखो।",
    # Chinese
    "为什么这个测试没有通过？",
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
    *((Correction.INSTEAD, one) for one in INSTEAD),
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
