"""Which wordings ask for the opposite of each other."""

from tests.rows import each_row

from prowess.language.opposites import are_opposed, find_sides, find_undone

OPPOSITE = [
    ("Turn on wifi", "Turn off wifi"),
    ("Turn the lamp in the kitchen on", "Turn the lamp in the kitchen off"),
    ("Enable wifi on the phone", "Disable wifi on the phone"),
    ("Turn on wifi on the phone", "Turn off wifi on the phone"),
    ("Enable the plugin", "Turn off the plugin"),
    ("Add user bob", "Remove user bob"),
    ("Follow nasa", "unfollow NASA"),
    ("Lock the account", "Unlock the account"),
    ("Start nginx", "Stopping nginx"),
    ("Compress the folder", "Extract the archive"),
    ("Scale it up to number", "Scale it down to number"),
    ("Log in to the shop", "Log out of the shop"),
    ("Mute the channel", "Unmute the channel"),
    ("Schalte das WLAN ein", "Schalte das WLAN aus"),
    ("Aktiviere das Plugin", "Deaktiviere das Plugin"),
    ("Ajoute un contact", "Supprime un contact"),
    ("Activa el wifi", "Desactiva el wifi"),
    ("\u6253\u5f00\u84dd\u7259", "\u5173\u95ed\u84dd\u7259"),
    ("\u5173\u6ce8\u4ed6", "\u53d6\u6d88\u5173\u6ce8\u4ed6"),
]


@each_row(("one", "other"), OPPOSITE)
def test_opposites_are_known_in_both_directions(one: str, other: str) -> None:
    assert are_opposed(find_sides(one), find_sides(other))
    assert are_opposed(find_sides(other), find_sides(one))
    assert find_undone(one) != find_undone(other)


@each_row(
    ("one", "other"),
    [
        ("Convert it to JSON", "Turn it into JSON"),
        ("Deploy the app", "Ship the app"),
        ("Turn on wifi", "Enable wifi"),
        ("Delete the file", "Remove the file"),
        ("Stop nginx and start it again", "Start nginx"),
        ("Put the book on the list", "Put the book in the list"),
        ("Understand the code", "Describe the code"),
    ],
)
def test_other_words_for_the_same_are_not_opposed(one: str, other: str) -> None:
    assert not are_opposed(find_sides(one), find_sides(other))


def test_what_undoes_nothing_is_known_by_nothing() -> None:
    assert find_undone("Create a component") == find_undone("Make a component") == frozenset()
