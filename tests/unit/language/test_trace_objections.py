"""What a person types next: which messages reject what was done, and which ask for more."""

from tests.rows import each_row

from prowess.language.corrections import objects, refuses

OBJECTIONS = [
    "please don't use kubectl for that, we have a script",
    "that broke everything",
    "Hmm, tests fail now",
    "you deleted my file!!",
    "That didn't fix it",
    "same error",
    "Still the same error",
    "still getting the error",
    "try again",
    "please try again",
    "actually revert",
    "git reset --hard",
    "das ist falsch",
    "Das stimmt nicht",
    "stimmt nicht",
    "c'est faux",
    "non, annule",
    "ne marche pas",
    "\u043d\u0435 \u0440\u0430\u0431\u043e\u0442\u0430\u0435\u0442",
    "\u4e0d\u5bf9",
    "nope",
    "No.",
    "No, that's wrong",
    "I said JSON not YAML",
    "why did you do that?",
    "it doesn't work",
    "This is not what I asked for",
    "no, use the other form",
    "No that is the 2019 version",
    "undo that",
    "roll it back",
    "Revert.",
    "That's wrong",
    "hm, it still fails on page two",
    "you broke the layout",
    "Thanks, but it still crashes",
    "Das funktioniert nicht",
    "es geht immer noch nicht",
    "nein, anders",
    "mach das r\u00fcckg\u00e4ngig",
    "\u00e7a ne marche toujours pas",
    "m\u00eame erreur",
    "no funciona",
    "sigue fallando",
    "deshaz los cambios",
    "\u8fd8\u662f\u62a5\u9519",
    "\u64a4\u9500",
    "\u043e\u0442\u043a\u0430\u0442\u0438",
    "\u043d\u0435\u0442, \u043d\u0435 \u0442\u0430\u043a",
    "that made it worse",
    "it crashes on start",
    "wrong file",
    "that's not right",
    "This isn't what I wanted",
    "now I get this error: KeyError",
    "put it back",
    "don't do that",
    "you forgot the tests",
    "restore my file",
    "not working",
    "doesn't compile",
    "No!!! stop",
    "wait, that is not correct",
    "I'm getting the same error",
    "It's still broken",
]
OTHERS = [
    "no problem, now do X",
    "No problem, thanks!",
    "not bad",
    "Not bad, now add a test",
    "now the next error is elsewhere",
    "nothing else",
    "stop the server on port 80",
    "Now print it",
    "note",
    "Great, you removed the dead code. Now update the docs",
    "perfect",
    "Thanks! Next: fix the tests that fail in module B",
    "fix the same issue in module B",
    "do the same thing for the other file",
    "When tests fail, post to Slack",
    "Run the tests and tell me which fail",
    "Add a test that fails when the list is empty",
    "tell the user to try again when the login fails",
    "Write a function that returns false if the build fails",
    "no, that's all, thanks",
    "no thanks",
    "Now translate it to German",
    "commit and push",
    "It works. Now deploy it",
    "that works, now add logging",
    "Add error handling to the upload",
    "Explain the error message in the log",
    "rename the file",
    "Why is this function needed?",
    "wrap the call in a retry",
    "What does git reset do?",
    "Notify me by mail",
    "Next, handle the wrong password case",
    "summarise what you removed",
    "Nice, and now in Spanish",
    "very good, continue with step two",
    "danke, jetzt noch die Doku",
    "merci, ajoute un test",
    "gracias, ahora el siguiente",
    "\u5f88\u597d\uff0c\u7ee7\u7eed\u4e0b\u4e00\u4e2a",
    "\u0441\u043f\u0430\u0441\u0438\u0431\u043e, \u0434\u0430\u043b\u044c\u0448\u0435",
    "Nonetheless add a comment",
    "Normalise the names",
    "I wanted to ask about the next step",
    "write a script to delete old files",
    "Falls die Tests fehlschlagen, schick eine Mail",
    "bump the version",
    "create a new branch and open a pull request",
    "Show me the diff",
    "update the changelog",
]


@each_row("message", OBJECTIONS)
def test_a_message_that_rejects_what_was_done_is_an_objection(message: str) -> None:
    assert objects(message)
    assert objects(message.upper())


@each_row("message", OTHERS)
def test_a_message_that_asks_for_more_is_none(message: str) -> None:
    assert not objects(message)


@each_row("part", ["no ", "hm ", "you ", "still ", "that ", "test is ", "x"])
def test_no_text_keeps_the_reader_busy(part: str) -> None:
    assert objects(part * 1_000_000) in {True, False}


@each_row(
    "message",
    [
        "I appreciate it, but we publish with make publish, not by hand",
        "nice try :) but that's not our way, use make publish",
        "thank you, though I would rather you used the script",
        "ok but we usually do that with the script",
        "danke, aber wir nehmen daf\u00fcr das Skript",
        "perfect, from now on use pnpm",
        "I would have used the script for that",
        "could you take the script for that instead?",
        "kind of you, but there is a target for it",
        "nett, aber daf\u00fcr haben wir ein Skript",
        "gracias, pero para eso tenemos un script",
        "merci mais on a un script pour \u00e7a",
        "obrigado, mas temos um script para isso",
    ],
)
def test_what_is_refused_politely_is_refused(message: str) -> None:
    assert refuses(message)


@each_row(
    "message",
    [
        "great! now add tests",
        "thanks, but could you also add a test?",
        "looks good, but please write the changelog too",
        "perfect, now deploy it",
    ],
)
def test_thanks_and_another_wish_refuse_nothing(message: str) -> None:
    assert not refuses(message)
