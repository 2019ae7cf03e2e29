"""The workshop's settings: off unless switched on, clamped, and every slip is reported."""

from tests.rows import each_row

from prowess.host.config.file import to_settings
from prowess.settings import ApprovalPolicy, ReviewMode, Settings, WorkshopSettings

PREFIX = "plugins.entries.skill-workshop"


def read(entry: object) -> Settings:
    return to_settings({"plugins": {"entries": {"skill-workshop": entry}}})


def test_the_workshop_is_off_unless_its_entry_is_on() -> None:
    assert not to_settings({}).workshop.active
    assert not read({}).workshop.active
    assert not read({"config": {"enabled": True}}).workshop.active
    assert not read({"enabled": True, "config": {"enabled": False}}).workshop.active
    assert read({"enabled": True}).workshop.active


def test_every_setting_is_read() -> None:
    found = read(
        {
            "enabled": True,
            "config": {
                "autoCapture": False, "approvalPolicy": "auto", "reviewMode": "llm",
                "reviewInterval": 3, "reviewMinToolCalls": 4, "reviewTimeoutMs": 6000,
                "maxPending": 7, "maxSkillBytes": 2048,
            },
        }
    )  # fmt: skip

    assert found.problems == ()
    assert found.workshop == WorkshopSettings(
        selected=True, auto_capture=False, approval_policy=ApprovalPolicy.AUTO,
        review_mode=ReviewMode.LLM, review_interval=3, review_min_tool_calls=4,
        review_timeout_ms=6000, max_pending=7, max_skill_bytes=2048,
    )  # fmt: skip


@each_row(
    ("name", "value", "field", "kept"),
    [
        ("reviewInterval", 0, "review_interval", 1),
        ("reviewMinToolCalls", 501, "review_min_tool_calls", 500),
        ("reviewTimeoutMs", 10, "review_timeout_ms", 5000),
        ("maxPending", 5000, "max_pending", 200),
        ("maxPending", -3, "max_pending", 1),
        ("maxSkillBytes", 10**9, "max_skill_bytes", 200_000),
    ],
)
def test_a_number_out_of_range_is_moved_to_the_bound_and_reported(
    name: str, value: int, field: str, kept: int
) -> None:
    found = read({"enabled": True, "config": {name: value}})

    assert getattr(found.workshop, field) == kept
    assert [problem.key for problem in found.problems] == [f"{PREFIX}.config.{name}"]
    assert str(kept) in found.problems[0].message


@each_row(
    ("name", "value"),
    [
        ("maxPending", "20"), ("maxPending", True), ("reviewInterval", [1]),
        ("approvalPolicy", "always"), ("reviewMode", 1), ("autoCapture", "yes"), ("enabled", 1),
        ("maxPendng", 3),
    ],
)  # fmt: skip
def test_a_wrong_type_takes_the_default_and_is_reported(name: str, value: object) -> None:
    found = read({"enabled": True, "config": {name: value}})

    assert found.workshop == WorkshopSettings(selected=True)
    assert [problem.key for problem in found.problems] == [f"{PREFIX}.config.{name}"]


def test_a_fraction_is_cut() -> None:
    assert read({"enabled": True, "config": {"maxPending": 7.9}}).workshop.max_pending == 7


def test_an_entry_or_config_that_is_no_object_switches_nothing_on() -> None:
    assert not read([True]).workshop.active

    found = read({"enabled": True, "config": "hybrid"})

    assert found.workshop == WorkshopSettings(selected=True)
    assert [problem.key for problem in found.problems] == [f"{PREFIX}.config"]
