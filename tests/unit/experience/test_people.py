"""Names, messages, accounts and balances of people are kept out of what is learned."""

import re

from tests.rows import each_row
from tests.unit.experience.trace_heaps import bash, tool, touch, trace

from prowess.experience.draft import write_draft
from prowess.experience.lessons.alignment import align
from prowess.experience.lessons.parameter_names import name_parameter
from prowess.experience.lessons.skill import write_skill
from prowess.experience.redaction import HIDDEN, find_private, hide_accounts, hide_people
from prowess.experience.replay.script import write_replay_script
from prowess.transcripts.traces import Trace

PEOPLE = (
    ("Marta Nowak", "marta@firma.example", "Hi Marta, my pay talk is on Friday."),
    ("Jonas Weber", "jonas@firma.example", "Hi Jonas, I am at the dentist."),
    ("Aisha Khan", "aisha@firma.example", "Hi Aisha, my mother is ill."),
)


def note(name: str, address: str, text: str) -> Trace:
    return trace(
        f"Send {name} the standup notes",
        tool("mcp__mail__find_contact", {"query": name}),
        tool("mcp__mail__send_email", {"to": [address], "subject": "Standup", "body": text}),
        final=f"Sent to {name} ({address}).",
    )


def test_a_lesson_shows_nothing_of_the_people_it_was_learned_from() -> None:
    found = align([note(*person) for person in PEOPLE])
    assert found is not None

    skill = write_skill(found)

    shown = " ".join((skill.body, skill.description, *(one.quote for one in skill.evidence)))
    for name, address, text in PEOPLE:
        assert not any(part in shown for part in (*name.split(), address, text))
    assert "| `recipient` |" in skill.body
    assert skill.name == "send-standup-notes"


def test_a_draft_and_its_replay_show_nothing_of_them_either() -> None:
    one = note(*PEOPLE[0])

    text = write_draft(one, stem="x", generated_at="now", strict=False)
    script = write_replay_script(one, name="x") or ""

    for shown in (text, script):
        assert "Marta" not in shown
        assert "Nowak" not in shown
        assert "dentist" not in shown


@each_row(
    ("task", "people"),
    [
        ("Pay my landlord Piet de Vries 950 euro", ("Piet de Vries", "Vries", "Piet")),
        ("Transfer 60 euro to Anna", ("Anna",)),
        ("call Stripe hooks from the worker", ()),
        ("Send JSON to the queue", ()),
        ("write Python tests for the parser", ()),
        ("email Tom about the outage", ("Tom",)),
        ("cancel the lunch with Jan Peeters on friday", ("Jan Peeters", "Peeters", "Jan")),
        ("print the letter of Frau Adler today", ("Adler",)),
        ("meeting with the API team", ()),
    ],
)
def test_somebody_is_known_by_where_a_name_stands(task: str, people: tuple[str, ...]) -> None:
    assert find_private(trace(task, bash("true"))) == people


def test_somebody_is_known_by_an_address_in_a_field_for_people() -> None:
    invited = trace(
        "Lunch for Ramón Roldán in the Blue Room",
        tool("create_event", {"attendees": ["ramon.roldan@firma.example"], "title": "Lunch"}),
    )
    shown = write_draft(hide_people(invited), stem="x", generated_at="now", strict=False)

    assert "Roldán" not in shown
    assert "Blue Room" in shown


def test_somebody_is_known_by_an_option_of_a_command() -> None:
    runs = [
        trace(
            f"book the payment of {name}, {amount} EUR, then send the receipt",
            bash(f"python tools/ledger.py paid --customer '{name}' --amount {amount}"),
            bash(f'python tools/mail.py send --to {address} --body "{text}"'),
        )
        for amount, (name, address, text) in zip(("10.50", "7.20", "31.00"), PEOPLE, strict=True)
    ]
    found = align(runs)
    assert found is not None

    skill = write_skill(found)

    shown = " ".join((skill.body, skill.description, *(one.quote for one in skill.evidence)))
    for name, address, text in PEOPLE:
        assert not any(part in shown for part in (*name.split(), address, text))


def test_an_option_that_names_a_thing_names_nobody() -> None:
    build = 'gh pr create --title "Blue Room" --body "All is done" && ./pack --owner "acme tools"'

    assert find_private(trace("Open the pull request", bash(build))) == ()


def test_a_page_names_no_value_that_it_does_not_explain() -> None:
    runs = [
        trace(
            f"slot for {ship} {crane.capitalize()} {when}",
            tool("list_slots", {"date": day}),
            tool("book_slot", {"title": f"Slot {ship}", "lines": [f"{ship.lower()}.{crane}"]}),
        )
        for ship, crane, when, day in (
            ("Alpha", "vogt", "friday at 10", "2026-11-20"),
            ("Beta", "meier", "monday please", "2026-11-23"),
            ("Gamma", "roth", "on tuesday", "2026-11-24"),
        )
    ]
    found = align(runs)
    assert found is not None

    body = write_skill(found).body

    assert set(re.findall(r"\{(\w+)\}", body)) <= set(re.findall(r"(?m)^\| `(\w+)`", body))


def test_a_version_is_called_one_though_a_name_stands_before_it() -> None:
    runs = [
        trace(task, bash(f"docker build -t reg.example/web:{version} ."), bash(f"./ship {version}"))
        for task, version in (
            ("ship web 2.5.0", "2.5.0"), ("ship the web, release 2.4.1", "2.4.1"),
            ("ship web now: 2.5.1", "2.5.1"),
        )
    ]  # fmt: skip
    found = align(runs)
    assert found is not None

    assert [one.name for one in found.parameters] == ["version"]


def test_a_field_of_a_tool_names_no_part_of_what_it_holds() -> None:
    runs = [
        trace(f"put the {plant} on the list", tool("mcp__shop__order", {"payload": f"one {plant}"}))
        for plant in ("fern", "rose", "cactus")
    ]
    found = align(runs)
    assert found is not None

    assert "payload" not in [one.name for one in found.parameters]


def test_a_time_of_day_is_called_one() -> None:
    times = [("6:45", "am"), ("7:30", "am"), ("10:10", "pm")]
    assert name_parameter([one for one, _ in times], [], ["wake me"] * 3) == "time"
    assert name_parameter([half for _, half in times], [], ["wake me"] * 3) == "am_or_pm"


def test_what_is_typed_where_people_write_to_each_other_is_a_message() -> None:
    told, looked_up = (
        trace("tell the team", touch("type", app, text="running late, sorry"))
        for app in ("com.whatsapp", "com.maps")
    )

    assert find_private(told) == ("running late, sorry",)
    assert find_private(looked_up) == ()


def test_amounts_are_private_where_a_task_is_about_what_somebody_has_or_is_told() -> None:
    shown, sold = (
        trace(task, bash("bank show", result="Giro \u20ac 4,310.22"))
        for task in ("check my balance", "sort the prices")
    )

    assert find_private(shown) == ("\u20ac 4,310.22", "4,310.22")
    assert find_private(sold) == ()


def test_the_name_of_a_program_is_nobody() -> None:
    assert find_private(trace("Tell Slack that it is done", tool("slack_post", {"x": "1"}))) == ()


@each_row(
    ("text", "told"),
    [
        ("Your balance is now \u20ac 2,118.04.", f"Your balance is now {HIDDEN}"),
        ("Kontostand: 300 EUR", f"Kontostand: {HIDDEN}"),
        ("IBAN NL91 ABNA 0417 1643 00", f"IBAN {HIDDEN}"),
        ("call +49 30 1234567 now", f"call {HIDDEN} now"),
        ("first is bob@web.example", f"first is {HIDDEN}"),
        ("pnpm add lodash@4.17.21", "pnpm add lodash@4.17.21"),
        ("ssh deploy@web1.example", "ssh deploy@web1.example"),
        ("load balancer 3 of 4", "load balancer 3 of 4"),
        ("It has 1240 rows", "It has 1240 rows"),
    ],
)
def test_accounts_and_what_people_hold_are_hidden(text: str, told: str) -> None:
    assert hide_accounts(text) == told


def test_what_is_nobodys_stays_as_it_is() -> None:
    one = trace("Upgrade lodash", bash("pnpm add lodash@4.17.21"), bash("pnpm test"))

    assert hide_people(one) == one
