"""A secret in a text of a trace is found by its name, its option or its place; other text stays."""

import base64

from tests.rows import each_row

from prowess.secrets.credentials import STARS
from prowess.secrets.mask import hide_secrets

ODD = "Zq7Vx9Lm2Kp4"

# The odd value stands in place of `^`.
HELD = [
    "export PGPASSWORD=^", "PASSWORD=letmein ./x", "export DB_PASSWORD='correct horse battery'",
    "STRIPE_KEY=^ x", "export GH_PAT=^", "ENCRYPTION_KEY=^^", "SESSION_COOKIE=^ x",
    "MAIL_PW=geheim",
    "docker login -u me -p ^", "docker login --password hunter", "echo ^ | sudo -S ls",
    "echo ^ | docker login --password-stdin", "printf '^\\n^\\n' | passwd me", "passwd <<< ^",
    "mysql -u root -phunter db", "redis-cli -a ^ ping", "zip -P ^ a b", "7z x -p^ a",
    "htpasswd -b f user ^", "smbclient //h/s -U me%^", "sshpass -p hunter ssh x",
    "curl -u me:hu x", "curl -b 'sid=^' http://x", "ldapsearch -w ^", "openssl enc -k ^ x",
    "aws configure set aws_secret_access_key ^^^", "npm config set //r/:_authToken=^^^",
    "git clone https://^^@github.com/x/y", "psql postgres://u:pw@h/db",
    "curl -H 'Cookie: session=^' x", "curl -H 'Authorization: Token hunter' x",
    "curl -H 'X-Auth: ^' x", "curl 'https://hooks.slack.com/services/T000/B000/^^'",
    "curl https://api.telegram.org/bot12345678:AAF^^^/send", "curl 'http://x/?sig=^^'",
    "curl 'http://x/?key=^'", "curl 'http://x/?token=^'", '{"password":"hunter"}',
    "password: geheim", "the password is hunter", "Your verification code is 482913",
    "Ihr Code lautet 482913", "482913 is your code", "\u5bc6\u7801\u662f^", "salasana: ^",
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19: ^",
    "seed phrase: abandon ability able about above absent absorb abstract absurd abuse access acid",
    "document.querySelector('#password').value='geheim99x'", "login: bob:geheim99x",
    "Log in with user bob and geheim99x", "card 4111 1111 1111 1111",
]  # fmt: skip
LEFT = (
    ODD, "letmein", "horse", "geheim", "hunter", "482913", "abandon", ":hu ", ":pw@", "4111 1111",
)  # fmt: skip


@each_row("text", HELD)
def test_a_secret_is_taken_out_of_what_was_run_or_said(text: str) -> None:
    found = hide_secrets(text.replace("^", ODD))

    assert STARS in found.text
    assert not [part for part in LEFT if part in found.text]


PLAIN = [
    "git commit -m 'Add token parser' --author='A B <a@b.org>'", "git clone git@github.com:o/r.git",
    "docker build -t app:1.2 -p 80:80 .", "mkdir -p build/out && cp -p a b", "ssh -p 22 me@host01",
    "tar -p -xzf a.tar.gz -C /opt", "grep -p pattern file", "ps -p 1234 -o pid,cmd",
    "redis-cli -p 6379 ping", "mysql -u root -p db < dump.sql", "psql --no-password -h db mydb",
    "docker run -e POSTGRES_PASSWORD=postgres -p 5432:5432 postgres:16",
    "export PATH=$PATH:/opt/bin PWD=/srv KEY=left", "PRIMARY_KEY=id SORT_KEY=name ./run",
    "curl -H 'Authorization: Bearer $TOKEN' https://api.example.com/v1?page=2&key=left",
    "docker login -u me --password-stdin < token.txt", "npx tsc -p tsconfig.json react@18",
    "python -m pytest -p no:randomly -k 'password and not token'", "unzip -p a.zip f | head",
    "openssl req -new -key server.key -out server.csr", "echo PASS=12 FAIL=3",
    "git config --global credential.helper store", "rsync -avzp src/ host:/dst/",
    "ffmpeg -i a.mp4 -pass 1 -f null /dev/null", "The exit code is 1234",
    "def login(user: str, password: str, token: Token | None = None) -> None:",
    "client.login(user=user, password=password, token=self.token)", "password: string;",
    "password = getpass('Password: ')", "api_key = os.environ['API_KEY']",
    "The password is required. The token is missing.", "Enter the password: then press OK",
    "zip code: 12345", "max_tokens=4096 --max-tokens 100", "mailto:bob99x@example.org",
    'echo "$PASSWORD" | docker login --password-stdin',
]  # fmt: skip


@each_row("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert hide_secrets(text).text == text


def test_what_is_encoded_is_read_too() -> None:
    encoded = base64.b64encode(f"password={ODD}".encode()).decode()

    found = hide_secrets(f"echo {encoded} | base64 -d")

    assert found.text == f"echo {STARS} | base64 -d"


def test_what_was_taken_is_told_for_the_other_texts() -> None:
    assert hide_secrets(f"PGPASSWORD={ODD} psql").taken == (ODD,)
    assert hide_secrets("the password is hunter").taken == ()


def test_a_text_without_its_secrets_has_none_left() -> None:
    for text in HELD:
        once = hide_secrets(text.replace("^", ODD)).text

        assert hide_secrets(once).text == once
