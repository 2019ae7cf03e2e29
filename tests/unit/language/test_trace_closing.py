"""What an agent says last: which words admit that a task is not done, and which only sound so."""

from tests.rows import each_row

from prowess.language.corrections import MOST_CLOSING, says_not_done

NOT_DONE = [
    "I could not fix it; the tests still fail.",
    "Sorry, I was unable to do it.",
    "I wasn't able to reproduce or fix this.",
    "It still fails.",
    "I failed, cannot do it",
    "Unfortunately, I couldn't complete the migration.",
    "I have tried three approaches, but the build is failing.",
    "Fixed the import, but the tests still fail.",
    "Unable to connect to the database.",
    "Failed to install the package.",
    "The fix did not work.",
    "I gave up after five tries.",
    "I am blocked by the missing API key.",
    "Blocked by a permission error.",
    "I need your help to log in.",
    "Please provide the password for the portal.",
    "3 tests are failing.",
    "The tests fail because the service is down.",
    "I cannot access the repository.",
    "This is not possible with the current version.",
    "I've run out of options; the bug remains unresolved.",
    "I ran out of time.",
    "The task failed.",
    "I don't have permission to push.",
    "Error: the file is missing.",
    "The login does not work yet, it is not fixed.",
    "Ich konnte den Fehler leider nicht beheben.",
    "Die Tests schlagen immer noch fehl.",
    "Es funktioniert nicht.",
    "Das ist mir nicht gelungen.",
    "Leider kann ich das nicht tun.",
    "Je n'ai pas pu corriger le bug.",
    "Les tests \u00e9chouent toujours.",
    "\u00c7a ne fonctionne toujours pas.",
    "Impossible de se connecter au serveur.",
    "No he podido arreglarlo.",
    "No pude completar la tarea.",
    "Los tests siguen fallando.",
    "Necesito tu ayuda para continuar.",
    "\u6211\u65e0\u6cd5\u5b8c\u6210\u8fd9\u4e2a\u4efb\u52a1\u3002",
    "\u6d4b\u8bd5\u4ecd\u7136\u5931\u8d25\u3002",
    "\u672a\u80fd\u4fee\u590d\u8be5\u95ee\u9898\u3002",
    "\u8bf7\u63d0\u4f9b\u5bc6\u7801\u3002",
    "\u041d\u0435 \u0443\u0434\u0430\u043b\u043e\u0441\u044c.",
    "Bitte gib mir das Passwort.",
    "\u7533\u3057\u8a33\u3042\u308a\u307e\u305b\u3093\u3001\u4fee\u6b63\u3067\u304d\u307e\u305b\u3093\u3002",
]
DONE = [
    "Fixed the failing test.",
    "Done, no errors.",
    "The test that failed now passes.",
    "All fields are set.",
    "All tests pass.",
    "The tests no longer fail.",
    "Fixed 3 failing tests.",
    "0 failed, 12 passed.",
    "No tests fail.",
    "The function now returns an error when the file could not be read.",
    "If it still fails, let me know.",
    "The first attempt failed, so I used pip instead. Everything works now.",
    "It failed because the path was wrong; I corrected it.",
    "I could not find any other problems.",
    "Added error handling for the case that the server cannot be reached.",
    "The build was failing because of a missing comma; that is fixed.",
    "Let me know if you need anything else.",
    "Removed the code that could not be reached.",
    "Now it shows `I could not log in` for a wrong password.",
    'The page says "Unable to connect" when it is offline.',
    "I updated the docs. Please review the changes.",
    "Shall I also commit it?",
    "There are 17 lines.",
    "Fixed:\n- Failed to parse empty files\n- Cannot log in twice\nDone. Hello.",
    "Der fehlgeschlagene Test l\u00e4uft jetzt.",
    "Die Tests schlagen nicht mehr fehl.",
    "Der Fehler ist behoben.",
    "Fertig, keine Fehler.",
    "Le test qui \u00e9chouait passe maintenant.",
    "Le bug est corrig\u00e9, aucune erreur.",
    "El error est\u00e1 corregido y las pruebas pasan.",
    "Sin errores.",
    "\u4fee\u590d\u4e86\u65e0\u6cd5\u767b\u5f55\u7684\u95ee\u9898\u3002",
    "\u5df2\u4fee\u590d\u5931\u8d25\u7684\u6d4b\u8bd5\u3002",
    "\u5168\u90e8\u6d4b\u8bd5\u901a\u8fc7\uff0c\u6ca1\u6709\u5931\u8d25\u3002",
    "\u0418\u0441\u043f\u0440\u0430\u0432\u0438\u043b \u043e\u0448\u0438\u0431\u043a\u0443.",
    "Added a retry: requests that fail are sent again.",
    "The error message is clearer.",
    "It works without an internet connection.",
    "Found.",
    "Sorry.",
    "I did not change anything else.",
    "Printed.",
]


@each_row("message", NOT_DONE)
def test_words_that_admit_a_failure_say_that_it_is_not_done(message: str) -> None:
    assert says_not_done(message)
    assert says_not_done(f"I looked at the code.\n\n**{message}**")


@each_row("message", DONE)
def test_words_about_failures_that_are_over_say_nothing_of_the_kind(message: str) -> None:
    assert not says_not_done(message)


def test_the_end_of_a_long_report_is_read_and_its_middle_is_not() -> None:
    report = "Read a file. " * MOST_CLOSING

    assert says_not_done(f"{report}I could not fix it.")
    assert not says_not_done(f"{report}I could not fix it. {report}")


@each_row("part", ["i ", "still ", "`", '"', "ich kann ", "tests ", "\n", "3 of the 3 "])
def test_no_text_keeps_the_reader_busy(part: str) -> None:
    assert says_not_done(part * 1_000_000) in {True, False}
