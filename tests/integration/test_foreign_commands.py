"""Commands as people type them who come from elsewhere, or whose fingers slip."""

from pathlib import Path

import pytest

from prowess.cli.main import main


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PROWESS_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("typed", "ours"),
    [
        (("skills", "list"), "list"),
        (("skills",), "list"),
        (("skills", "info", "prowess-manual"), "show"),
        (("skill", "check"), "check"),
        (("rm", "nothing"), "remove"),
        # OpenClaw wants to be told what ours does by itself.
        (("skills", "update", "--all"), "update"),
    ],
)
def test_a_command_of_another_program_is_run_under_our_name(
    typed: tuple[str, ...], ours: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(list(typed))

    said = capsys.readouterr().err
    assert f" is `prowess {ours}` here." in said
    assert "No such" not in said


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("doctr",), "did you mean `prowess doctor`"),
        (("workshp", "list"), "did you mean `prowess workshop`"),
        (("skills", "install", "pdf"), "`prowess add SOURCE` adds a skill"),
        (("gateway", "run"), "`prowess serve` runs the gateway"),
        (("logs",), "writes its log to standard error"),
        (("onboard",), "`prowess connect` names the coding agents"),
    ],
)
def test_what_is_no_command_is_answered_with_the_one_that_is_meant(
    typed: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(typed)) == 2

    assert told in capsys.readouterr().err
