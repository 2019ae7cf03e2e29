"""Reading and changing the config as clients of the gateway do."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import (
    ConfigConflictError,
    ConfigError,
    ConfigKeyError,
    ConfigSyntaxError,
    ProwessError,
)
from prowess.host.config.file import ConfigFile, to_settings
from prowess.host.config.writer import ConfigStore
from prowess.runtime.config.edits import ConfigEdits
from prowess.runtime.config.redaction import REDACTED

CANARY = "canary-93ab"


class Memory:
    """A config file without a disk; what it holds is understood as the real one is."""

    path = "/state/prowess.json"

    def __init__(self, content: bytes | None) -> None:
        self.content = content
        self.writes = 0
        self._real = ConfigStore(ConfigFile(self.path))
        self.stored, self.submitted = self._real.stored, self._real.submitted

    def read(self) -> bytes | None:
        return self.content

    @contextmanager
    def lock(self) -> Iterator[None]:
        yield

    def write(self, text: str, previous: bytes | None) -> None:
        assert previous == self.content
        self.content, self.writes = text.encode(), self.writes + 1


class Place:
    """Edits over such a file."""

    def __init__(self, stored: dict[str, Any] | str | None = None) -> None:
        text = json.dumps(stored) if isinstance(stored, dict) else stored
        self.file = Memory(None if text is None else text.encode())
        self.told: list[str] = []
        self.edits = ConfigEdits(
            self.file, check=lambda values: to_settings(values).problems, changed=self.told.append
        )

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.file.content or b"").hexdigest()

    @property
    def values(self) -> dict[str, Any]:
        return dict(json.loads(self.file.content or b"{}"))

    def set(self, values: object) -> dict[str, Any]:
        return self.edits.set(json.dumps(values), self.hash)

    def patch(self, values: object, *named: str) -> dict[str, Any]:
        return self.edits.patch(json.dumps(values), self.hash, named)


def test_without_a_file_there_is_an_empty_config() -> None:
    found = Place().edits.get()

    assert (found["exists"], found["valid"], found["config"]) == (False, True, {})
    assert found["raw"] is None
    assert found["hash"] == hashlib.sha256(b"").hexdigest()


def test_the_hash_is_that_of_the_bytes_whatever_they_mean() -> None:
    place = Place('\ufeff{"a": 1}')

    assert place.edits.get()["hash"] == hashlib.sha256('\ufeff{"a": 1}'.encode()).hexdigest()


def test_plain_text_without_secrets_is_shown_as_it_is() -> None:
    text = '{ "skills":   {"pinned": ["a"]}}'

    assert Place(text).edits.get()["raw"] == text


@each_row(
    "text",
    [
        f'{{"token": "{CANARY}"}}',
        f"{{a: 1, // token {CANARY}\n}}",
        f"/* {CANARY} */ {{}}",
        f'{{"a": 1, "env": {{"X": "{CANARY}",}}}}',
        f'{{"a" 1, "token": "{CANARY}"}}',
        f"{CANARY}",
        f'{{"skills": {{"load": {{"harnessDirs": ["{CANARY}"]}}}}}}',
        f'{{"skills": {{"safety": {{"egress": {{"X": ["sk-{CANARY} {CANARY}"]}}}}}}}}',
        f'{{"agents": {{"list": [{{"id": "sk-x{CANARY}"}}, {{"id": "sk-x{CANARY}"}}]}}}}',
        f'{{"skills": {{"install": {{"privateHosts": ["https://a:{CANARY}@b"]}}}}}}',
    ],
)
def test_no_secret_is_in_what_is_shown_or_said(text: str) -> None:
    place = Place(text)

    found = place.edits.get()

    # What nobody can tell from a name is part of the config, and not of a message.
    shown = [found["issues"], found["warnings"]]
    named = "harnessDirs" in text
    assert CANARY not in json.dumps(shown if named else found)
    assert found["hash"] == place.hash


def test_a_broken_file_is_reported_with_its_line_and_left_alone() -> None:
    place = Place('{"a": 1,\n "b" 2}')

    found = place.edits.get()

    assert (found["exists"], found["valid"], found["raw"]) == (True, False, None)
    assert "line 2" in found["issues"][0]["message"]
    for change in (place.set, place.patch):
        with pytest.raises(ConfigSyntaxError):
            change({"a": 2})
    with pytest.raises(ConfigSyntaxError):
        place.edits.update_entry("x", enabled=True)
    assert place.file.writes == 0


def test_wrong_values_are_issues_and_unknown_keys_are_none() -> None:
    found = Place({"skills": {"load": {"watch": "maybe"}}, "channels": {}}).edits.get()

    assert found["valid"] is False
    assert found["issues"] == [{"path": "skills.load.watch", "message": "must be true or false"}]
    assert [row["path"] for row in found["warnings"]] == ["channels"]


@pytest.mark.parametrize("edit", ["set", "patch"])
def test_a_change_needs_the_hash_of_what_it_changes(edit: str) -> None:
    place = Place({"a": 1})
    change: Callable[..., Any] = getattr(place.edits, edit)

    for given_hash in (None, "", "  "):
        with pytest.raises(ConfigConflictError, match=r"^config base hash required.*config\.get"):
            change('{"a": 2}', given_hash)
    stale = r"^config changed since last load; re-run config\.get and retry$"
    with pytest.raises(ConfigConflictError, match=stale):
        change('{"a": 2}', "0" * 64)

    assert place.file.writes == 0
    assert change('{"a": 2}', place.hash)["ok"] is True


def test_a_first_config_needs_no_hash_but_a_wrong_one_is_refused() -> None:
    place = Place()

    with pytest.raises(ConfigConflictError, match="config changed"):
        place.edits.set('{"a": 1}', "0" * 64)
    answer = place.edits.set("{a: 1, /* mine */ }", None)

    assert place.values == {"a": 1}
    assert answer["hash"] == place.hash
    assert place.told == [place.hash]


def test_secrets_come_back_in_a_set_and_a_patch() -> None:
    place = Place({"a": {"token": CANARY}, "skills": {"entries": {"x": {"env": {"K": CANARY}}}}})

    config = place.edits.get()["config"]
    answer = place.set({**config, "b": 1})
    patched = place.patch({"a": {"token": REDACTED, "more": True}})

    assert place.values == {
        "a": {"token": CANARY, "more": True},
        "skills": {"entries": {"x": {"env": {"K": CANARY}}}},
        "b": 1,
    }
    assert (answer["changedPaths"], patched["changedPaths"]) == (["b"], ["a.more"])
    assert CANARY not in json.dumps([answer, patched])


@pytest.mark.parametrize("edit", ["set", "patch"])
def test_what_changes_nothing_is_not_written(edit: str) -> None:
    place = Place("{// mine\n a: 1, token: 's'}")

    answer = getattr(place, edit)(place.edits.get()["config"])

    assert (answer["noop"], answer["changedPaths"], place.file.writes) == (True, [], 0)
    assert answer["hash"] == place.hash
    assert place.told == []


@each_row("edit", ["set", "patch"])
@each_row(
    ("values", "key"),
    [
        ({"skills": {"load": {"watch": CANARY}}}, "skills.load.watch"),
        ({"skills": CANARY}, "skills"),
        ({"agents": {"list": [{"id": "a", "skills": CANARY}]}}, "agents.list[0].skills"),
        ({"skills": {"load": {"harnessDirs": [CANARY]}}}, "skills.load.harnessDirs"),
        ({"skills": {"safety": {"egress": {"X": [f"{CANARY} !"]}}}}, "skills.safety.egress.X"),
        ({"agents": {"list": [{"id": CANARY}, {"id": CANARY}]}}, "agents.list[1]"),
    ],
)
def test_a_value_that_no_setting_takes_is_refused_by_its_key(
    edit: str, values: dict[str, Any], key: str
) -> None:
    place = Place({"kept": 1})

    with pytest.raises(ConfigKeyError) as refused:
        getattr(place, edit)(values)

    assert refused.value.key == key
    assert CANARY not in str(refused.value)
    assert place.file.writes == 0


def test_keys_of_other_programs_are_kept() -> None:
    place = Place({})

    place.set({"gateway": {"port": 1}, "skills": {"mine": [1]}})

    assert place.values == {"gateway": {"port": 1}, "skills": {"mine": [1]}}


def test_what_was_wrong_before_stands_in_nobodys_way_but_is_not_made_worse() -> None:
    wrong = {"skills": {"load": {"watch": "maybe"}}}
    place = Place(wrong)

    place.patch({"skills": {"pinned": ["a"]}})

    assert place.values["skills"]["pinned"] == ["a"]
    with pytest.raises(ConfigKeyError):
        place.patch({"skills": {"load": {"watch": "perhaps"}}})


@pytest.mark.parametrize(
    "agents", [{}, {"list": []}, {"list": [{"id": "b"}]}, {"entries": {"b": {}}}]
)
def test_a_set_that_forgets_agents_is_refused_with_their_names(agents: dict[str, Any]) -> None:
    place = Place({"agents": {"list": [{"id": "a"}, {"id": "b"}], "entries": {"c": {}}}})

    with pytest.raises(ConfigKeyError, match=r"agents: this would remove a,.*config\.patch"):
        place.set({"agents": agents})

    assert place.file.writes == 0


def test_an_agent_may_move_from_one_form_to_the_other() -> None:
    place = Place({"agents": {"list": [{"id": "a"}]}})

    place.set({"agents": {"entries": {"a": {}}}})

    assert place.values == {"agents": {"entries": {"a": {}}}}


def test_an_agent_that_is_named_can_be_removed() -> None:
    place = Place({"agents": {"list": [{"id": "a"}, {"id": "b"}], "entries": {"c": {}}}})

    answer = place.patch({"agents": {"list": [{"id": "b"}], "entries": {"c": None}}}, "agents.list")

    assert place.values["agents"] == {"list": [{"id": "b"}], "entries": {}}
    assert answer["changedPaths"] == ["agents.list", "agents.entries.c"]


@each_row(
    "raw",
    ["", "[]", "1", "null", "{", '{"a": 1, "a": 2}', '{"a": NaN}', '{"a": "\\ud800"}',
     "a" * 400_000, "{" + "/* " * 150_000, "'\\" * 200_000, "[" * 100_000, '{"a":' * 100_000,
     '{"a": 1' + "0" * 5_000 + "}", "{'token': " + CANARY + "}", CANARY],
)  # fmt: skip
def test_what_is_no_config_is_refused_at_once_and_not_repeated(raw: str) -> None:
    place = Place({"kept": 1})

    for change in (place.edits.set, place.edits.patch):
        with pytest.raises(ConfigSyntaxError) as refused:
            change(raw, place.hash)

        assert str(refused.value).startswith("raw: ")
        assert CANARY not in str(refused.value)
    assert place.file.writes == 0


SECRETS = st.dictionaries(
    st.sampled_from(("token", "apiKey", "password", "env")),
    st.just(CANARY) | st.lists(st.just(CANARY), max_size=2),
    min_size=1,
    max_size=2,
)
TREES: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 1) | st.sampled_from(("", REDACTED, "x")) | st.none(),
    lambda inner: (
        st.dictionaries(st.sampled_from(("skills", "agents", "list", "id", "entries", "x", "token",
                                         "env", "load", "watch")), inner, max_size=3)
        | st.lists(inner, max_size=2) | SECRETS
    ),
    max_leaves=10,
)  # fmt: skip
CONFIGS = st.dictionaries(st.sampled_from(("skills", "agents", "plugins", "x")), TREES, max_size=3)


@settings(max_examples=50, deadline=None)
@given(CONFIGS, CONFIGS, st.lists(st.sampled_from(("agents.list", "x", "[]", ""))))
def test_whatever_is_stored_and_sent_nothing_secret_comes_out(
    stored: dict[str, Any], sent: dict[str, Any], named: list[str]
) -> None:
    place = Place(stored)
    said: list[object] = [place.edits.get()]

    acts: tuple[Callable[[], object], ...] = (
        lambda: place.set(sent),
        lambda: place.patch(sent, *named),
        lambda: place.edits.update_entry("x", api_key=f"{CANARY}\n", env={"A_TOKEN": CANARY}),
    )
    for act in acts:
        try:
            said.append(act())
        except ProwessError as error:
            said.append(str(error))

    said += [place.edits.get(), place.told]
    assert CANARY not in json.dumps(said)


class Full(Memory):
    """A file on a disk without room."""

    def write(self, text: str, previous: bytes | None) -> None:
        del text, previous
        raise ConfigError(self.path, "cannot be written: no space.")


def test_a_change_that_was_not_written_is_not_told_to_others() -> None:
    told: list[str] = []
    edits = ConfigEdits(
        Full(None), check=lambda values: to_settings(values).problems, changed=told.append
    )

    with pytest.raises(ConfigError, match="no space"):
        edits.set('{"a": 2}', None)

    assert told == []


@pytest.mark.parametrize("edit", ["set", "patch"])
def test_what_sends_secrets_away_cannot_be_changed_and_may_be_sent_back(edit: str) -> None:
    model = {"endpoint": "https://h/v1", "keyEnv": "MY_KEY"}
    place = Place({"skills": {"model": model}, "gateway": {"auth": {"token": CANARY}}})
    config = place.edits.get()["config"]

    getattr(place, edit)({**config, "gateway": {**config["gateway"], "reload": {"mode": "hot"}}})
    kept = place.values
    for change in ({"model": {**model, "keyEnv": "HOME"}}, {"routing": {"encoder": "http://h/"}}):
        with pytest.raises(ConfigKeyError, match="prowess config set skills"):
            getattr(place, edit)({**config, "skills": {**config["skills"], **change}})

    assert kept["gateway"] == {"auth": {"token": CANARY}, "reload": {"mode": "hot"}}
    assert place.values == kept


def test_an_entry_gets_no_reference_from_a_client() -> None:
    place = Place({})

    with pytest.raises(ConfigKeyError, match=r"^skills\.entries\.x\.apiKey: cannot be changed"):
        place.edits.update_entry("x", api_key="$HOME")

    assert place.file.writes == 0


@pytest.mark.parametrize(
    ("patch", "name"),
    [
        ({"agents": None}, "agents"),
        ({"agents": {"list": None, "entries": None}}, "agents"),
        ({"agents": {"list": None}}, "agents.list"),
        ({"agents": {"entries": None}}, "agents.entries"),
    ],
)
def test_a_patch_that_loses_agents_names_them(patch: dict[str, Any], name: str) -> None:
    place = Place({"agents": {"list": [{"id": "a"}], "entries": {"b": {}}}})

    with pytest.raises(ConfigKeyError, match=r"agents: this would remove [ab]"):
        place.patch(patch)
    with pytest.raises(ConfigKeyError, match=r"agents: this would remove [ab]"):
        place.patch(patch, "skills", "agents.other")
    place.patch(patch, name)

    assert place.file.writes == 1


def test_a_refusal_names_a_few_agents_each_in_short() -> None:
    place = Place({"agents": {"list": [{"id": f"{number:05}" * 99} for number in range(40)]}})

    with pytest.raises(ConfigKeyError, match="and 30 more") as refused:
        place.set({})

    assert len(str(refused.value)) < 1_500


def test_a_client_cannot_make_agents_without_end() -> None:
    place = Place({})

    with pytest.raises(ConfigKeyError, match=r"agents: 501 are more than 500"):
        place.set({"agents": {"list": [{"id": f"a{number}"} for number in range(501)]}})


def test_an_update_shows_what_it_set_and_not_what_was_there() -> None:
    place = Place({"skills": {"entries": {"x": {"env": {"MODE": CANARY, "A": "1"}}}}})

    answer = place.edits.update_entry("x", env={"A": "2", "MODE": REDACTED, "LOGIN": CANARY})

    assert answer["config"]["env"] == {"MODE": REDACTED, "A": "2", "LOGIN": REDACTED}
