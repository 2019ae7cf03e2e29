"""Keys of model providers: commands do not see them, unless a skill declares them."""

from prowess.agents.chat_tools import for_commands, provider_keys

ENVIRON = {
    "PATH": "/bin",
    "OPENAI_API_KEY": "a",
    "anthropic_api_key": "b",
    "MY_KEY": "c",
    "GITHUB_TOKEN": "d",
}


def test_known_keys_and_the_one_of_the_settings_are_kept_back() -> None:
    made = for_commands(ENVIRON, provider_keys("openai:gpt-5", "MY_KEY"), ())

    assert sorted(made) == ["GITHUB_TOKEN", "PATH"]


def test_what_a_skill_declares_is_handed_on() -> None:
    made = for_commands(ENVIRON, provider_keys("openai:gpt-5"), ["openai_api_key"])

    assert sorted(made) == ["GITHUB_TOKEN", "MY_KEY", "OPENAI_API_KEY", "PATH"]


def test_an_account_is_kept_back_where_the_model_uses_it() -> None:
    made = for_commands(ENVIRON, provider_keys("github:openai/gpt-4o"), ())

    assert sorted(made) == ["MY_KEY", "PATH"]
