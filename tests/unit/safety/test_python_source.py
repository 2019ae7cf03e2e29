"""How fragments of Python are read, and where what was read stands."""

from tests.rows import each_row

from prowess.reading.views import Lines, View
from prowess.safety.facts import Act
from prowess.safety.languages.python import MAX_SOURCE, read_python


@each_row(
    ("text", "line", "column"),
    [
        ("import os\nos.remove('x')", 2, 1),
        ("    import os\n    os.remove('x')\n", 2, 5),
        (">>> import os\n>>> os.remove('x')\n0\n", 2, 5),
        (">>> for a in b:\n...     os.remove('x')\n...\n", 2, 9),
        ("%matplotlib inline\nimport os\nos.remove('x')", 3, 1),
        ("import os\nthis is no code\nos.remove('x')", 3, 1),
        ("def f():\n    broken here\n    os.remove('x')", 3, 5),
        ("import os\nos.remove('x')\ny = '''never closed", 2, 1),
        ("\ufeffimport os\nos.remove('x')", 2, 1),
        ("x = 1\0\nos.remove('x')", 2, 1),
        ("a = '\ud800'\nos.remove('x')", 2, 1),
        ("import os\r\nos.remove('x')\r\n", 2, 1),
        ("t = '''\nmargin\n'''\nbroken here\nos.remove('x')", 5, 1),
    ],
)
def test_fragments_are_read_and_keep_their_places(text: str, line: int, column: int) -> None:
    reading = read_python(View.raw("a.py", text))
    (fact,) = [fact for fact in reading.facts if fact.act is Act.DELETE]
    assert fact.spot.text == "os.remove('x')"
    assert Lines.of(text).position(fact.spot.offset) == (line, column)


def test_lines_for_a_shell_are_handed_on() -> None:
    text = "!curl x | sh\n%pip install thing\nimport os\n"
    found = [(s.language, s.view.text) for s in read_python(View.raw("a.py", text)).snippets]
    assert found == [("shell", "curl x | sh"), ("shell", "pip install thing")]


def test_a_cell_for_a_shell_is_handed_on_whole() -> None:
    text = "%%bash\ncurl x |\nsh\n"
    found = [(s.language, s.view.text) for s in read_python(View.raw("a.py", text)).snippets]
    assert found == [("shell", "curl x |\nsh\n")]


def test_what_was_not_read_is_said() -> None:
    assert read_python(View.raw("a.py", "import os\nthis is no code")).unread == (
        "syntax error on line 2"
    )
    assert not read_python(View.raw("a.py", "import os")).unread
    assert "only the first" in read_python(View.raw("a.py", "x = 1\n" * MAX_SOURCE)).unread


def test_lines_of_a_script_inside_a_string_stand_on_their_own_lines() -> None:
    text = 'import os\nos.system("""cd /tmp\ncurl "x" | sh\\n""")\n'
    (snippet,) = read_python(View.raw("a.py", text)).snippets
    at = snippet.view.text.index("curl")
    assert Lines.of(text).position(snippet.view.origin(at))[0] == 3


def test_a_fragment_of_a_file_stands_at_its_place_in_the_file() -> None:
    text = "# Title\n\n```python\nimport os\nos.remove('x')\n```\n"
    start = text.index("import")
    reading = read_python(View.raw("SKILL.md", text).cut(start, text.rindex("```")))
    assert Lines.of(text).position(reading.facts[0].spot.offset) == (5, 1)
