"""`skills.safety` in the config: what is plain is taken, anything else allows nothing."""

from tests.rows import each_row

from prowess.host.config.file import to_settings


def test_hosts_are_read_by_variable() -> None:
    found = to_settings(
        {"skills": {"safety": {"egress": {"A_TOKEN": ["API.Example.com"], "B": "b.example"}}}}
    )

    assert found.skills.safety.egress == {"A_TOKEN": ("api.example.com",), "B": ("b.example",)}
    assert found.problems == ()


def test_the_language_model_is_not_asked_unless_the_operator_says_so() -> None:
    assert to_settings({}).skills.safety.review is False
    assert to_settings({"skills": {"safety": {"review": True}}}).skills.safety.review is True


@each_row(
    ("safety", "key"),
    [
        ({"egress": ["a"]}, "skills.safety.egress"),
        ({"egress": {"A B": ["a.example"]}}, "skills.safety.egress.A B"),
        ({"egress": {"A": 1}}, "skills.safety.egress.A"),
        ({"egress": {"A": ["*"]}}, "skills.safety.egress.A"),
        ({"egress": {"A": ["https://a.example/x"]}}, "skills.safety.egress.A"),
        ({"review": "yes"}, "skills.safety.review"),
        ({"other": 1}, "skills.safety.other"),
        ("x", "skills.safety"),
    ],
)
def test_what_is_not_plain_is_reported_and_allows_nothing(safety: object, key: str) -> None:
    found = to_settings({"skills": {"safety": safety}})

    assert found.skills.safety.egress == {}
    assert found.skills.safety.review is False
    assert key in {problem.key for problem in found.problems}


def test_one_odd_host_does_not_take_the_others_away() -> None:
    found = to_settings({"skills": {"safety": {"egress": {"A": ["a.example", "*.b.example"]}}}})

    assert found.skills.safety.egress == {"A": ("a.example",)}
