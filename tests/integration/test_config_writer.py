import json
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.errors import ConfigError, ConfigKeyError, ConfigSyntaxError
from prowess.host.config.file import ConfigFile
from prowess.host.config.writer import check_value, split_key, write
from prowess.runtime.config.redaction import REDACTED, redact

PINNED = ("skills", "pinned")


def config_at(path: Path, text: str | None = None) -> ConfigFile:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    return ConfigFile(str(path))


def test_setting_a_key_keeps_every_other_one(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    config = config_at(path, '{"gateway": {"port": 1}, "skills": {"pinned": ["a"]}}')

    write(config, ("skills", "limits", "maxSkillsInPrompt"), 5)

    assert json.loads(path.read_text()) == {
        "gateway": {"port": 1},
        "skills": {"pinned": ["a"], "limits": {"maxSkillsInPrompt": 5}},
    }
    assert config.read().skills.limits.max_skills_in_prompt == 5


def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "state" / "prowess.json"

    write(config_at(path), PINNED, ["a"])

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_comments_are_kept_beside_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    text = "{\n  // mine\n  skills: {pinned: ['a'],},\n}\n"

    backup = write(config_at(path, text), PINNED, ["b"])

    assert backup is not None
    assert Path(backup).read_text() == text
    assert json.loads(path.read_text()) == {"skills": {"pinned": ["b"]}}


def test_removing_a_key_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"

    write(config_at(path, '{"a": 1}'), ("skills", "load", "watch"), None)

    assert json.loads(path.read_text()) == {"a": 1}


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "prowess.json"
    real.write_text("{}")
    link.symlink_to(real)

    write(config_at(link), PINNED, ["a"])

    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"skills": {"pinned": ["a"]}}


def test_a_broken_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"
    config = config_at(path, "{ not json")

    with pytest.raises(ConfigSyntaxError):
        write(config, PINNED, ["a"])

    assert path.read_text() == "{ not json"
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".bak"] == []


def test_a_folder_in_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "prowess.json").mkdir()

    with pytest.raises(ConfigError, match="not a regular file"):
        ConfigFile(str(tmp_path / "prowess.json")).read()


def test_nothing_is_set_below_a_value_that_is_no_object(tmp_path: Path) -> None:
    config = config_at(tmp_path / "prowess.json", '{"skills": []}')

    with pytest.raises(ConfigKeyError, match="not an object"):
        write(config, ("skills", "load", "watch"), value=False)


def test_a_key_with_dots_is_quoted() -> None:
    assert split_key('skills.entries."a.b".enabled') == ["skills", "entries", "a.b", "enabled"]


@each_row("key", ["", ".", "a..b", "a.", '"a', 'a.""'])
def test_a_key_with_an_empty_part_is_refused(key: str) -> None:
    with pytest.raises(ConfigKeyError):
        split_key(key)


def test_a_value_of_the_wrong_type_is_refused_before_it_is_written() -> None:
    with pytest.raises(ConfigKeyError, match="true or false"):
        check_value(("skills", "load", "watch"), "maybe")


def test_settings_are_known_by_their_pattern() -> None:
    assert check_value(("skills", "entries", "anything", "enabled"), value=True)
    assert check_value(("skills", "load"), {})
    assert not check_value(("skills", "lode"), {})


def test_an_object_is_never_replaced_by_a_word() -> None:
    with pytest.raises(ConfigKeyError, match="must be an object"):
        check_value(("skills",), "oops")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\udcff", 2**70])
def test_what_no_file_can_hold_is_refused(value: object) -> None:
    with pytest.raises(ConfigKeyError, match="cannot be written as JSON"):
        check_value(("anything",), value)


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prowess.json"

    def set_one(number: int) -> None:
        write(config_at(path), ("skills", "entries", f"s{number}", "enabled"), value=False)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(set_one, range(24)))

    assert len(json.loads(path.read_text())["skills"]["entries"]) == 24


def test_what_may_be_a_secret_is_never_shown() -> None:
    shown = redact(
        {
            "skills": {"entries": {"x": {"apiKey": "s1", "env": {"A": "s2", "EMPTY": ""}}}},
            "auth": {"mode": "s3"},
            "password": 4444,
            "tokens": {"github": {"value": "s5"}},
            "channels": [{"botToken": "s6", "name": "shown"}],
            "url": "https://me:s7@host/path",
            "args": ["--api-key", "s8", "--verbose", "kept"],
            "ENV": ["s9"],
            "accessKey": "s10",
        }
    )

    text = json.dumps(shown)

    assert not re.search(r"s[0-9]|4444", text)
    assert '"EMPTY": ""' in text
    assert all(word in text for word in ("shown", "--verbose", "kept", REDACTED))
