"""What the page of a lesson says about steps and values in which its runs differed."""

from tests.unit.experience import trace_heaps as heaps
from tests.unit.experience.trace_heaps import bash, tap, tool, touch, trace

from prowess.experience.lessons.alignment import align
from prowess.experience.lessons.skill import LearnedSkill, tell_apart, write_skill
from prowess.transcripts.traces import Trace


def learned(*traces: Trace) -> LearnedSkill:
    found = align(traces)
    assert found is not None
    return write_skill(found)


def section(body: str, heading: str) -> list[str]:
    _, _, rest = body.partition(f"\n## {heading}\n")
    return [line for line in rest.split("\n## ", 1)[0].splitlines() if line.strip()]


def test_steps_of_single_runs_are_told_of_as_they_are() -> None:
    heap = [heaps.conversion(name) for name in ("sales", "orders", "users")]
    lost = [heaps.conversion(f"x{at}", extra=[(1, bash(f"probe{at} now"))]) for at in "ab"]

    one, two = learned(*heap, lost[0]).body, learned(*heap, *lost).body

    assert section(one, "Pitfalls") == ["- Steps that only one run took are left out."]
    assert section(two, "Pitfalls") == [
        "- 2 of 5 runs took steps that no other run took; these are left out."
    ]


def test_a_page_tells_what_most_had_and_what_one_did_otherwise() -> None:
    hosts = ("web1", "web1", "web1", "web2")
    heap = [
        trace(
            f"Deploy the site s{at}",
            bash(f"hugo{' --minify' if at == 2 else ''} -s s{at}"),
            bash(f"ssh {host} systemctl reload nginx"),
        )
        for at, host in enumerate(hosts)
    ]

    body = learned(*heap).body

    assert "| `host` | the host; the task may not name it | mostly `web1`; also `web2` |" in body
    assert "- Where the task does not say `{host}`, most runs had `web1`." in body
    assert section(body, "Pitfalls") == [
        "- One run took step 1 otherwise: Run `hugo --minify -s {site}`."
    ]


def test_a_look_that_all_took_is_not_marked_as_optional() -> None:
    heap = [
        trace(f"Press {name}.pdf", bash(f"gs -o small/{name}.pdf {name}.pdf"), bash("ls -lh small"))
        for name in ("aa", "bb", "cc")
    ]

    assert section(learned(*heap).body, "Procedure")[1] == "2. Run `ls -lh small`."


def test_opposite_goals_have_other_keys_and_names() -> None:
    def switched(word: str) -> LearnedSkill:
        taps = [tap("a:id/wifi", "Wi-Fi"), tap("a:id/switch", "Use Wi-Fi")]
        opened = touch("launch_app", packageName="com.set")
        runs = (trace(f"Turn {word} wifi", opened, *taps, session=f"{at}") for at in range(3))
        return learned(*runs)

    def grouped_user(verb: str, option: str) -> LearnedSkill:
        return learned(
            *(
                trace(f"{verb} {who}", bash(f"gpasswd {option} {who} x"), bash(f"groups {who}"))
                for who in ("ann", "bob", "carl")
            )
        )

    skills = [
        switched("on"),
        switched("off"),
        grouped_user("Endow", "-a"),
        grouped_user("Strip", "-d"),
    ]

    assert len({skill.goal_key for skill in skills}) == len(skills)
    assert len({skill.name for skill in skills}) == len(skills)


def test_a_failure_that_names_the_value_of_its_run_is_one_pitfall() -> None:
    heap = [
        trace(
            f"Add a migration for the {name} table",
            bash(f"migrate {name}", failed=True, result=f"error: no such table {name}"),
            bash(f"migrate {name}", failed=True, result=f"error: no such table {name}"),
            bash(f"prepare {name}"),
            bash(f"migrate {name}"),
        )
        for name in ("orders", "users", "carts")
    ]

    (pitfall,) = section(learned(*heap).body, "Pitfalls")

    assert pitfall.startswith("- This went wrong in 3 of 3 runs: Run `migrate {table}`")
    assert "no such table {table}" in pitfall


def test_near_skills_say_what_they_are_not_for() -> None:
    doors = ("front", "back", "garage")
    one = learned(*(trace(f"Lock the {door} door", bash(f"home lock {door}")) for door in doors))
    two = learned(
        *(trace(f"Unlock the {door} door", bash(f"home unlock {door}")) for door in doors)
    )
    far = learned(*(heaps.conversion(name) for name in ("sales", "orders", "users")))

    locks, unlocks, converts = tell_apart([one, two, far])

    assert locks.description.endswith(" Not for requests to unlock the door (use unlock-door).")
    assert unlocks.description.endswith(" Not for requests to lock the door (use lock-door).")
    assert "Not for" not in converts.description


def test_a_field_that_lists_several_is_told_too() -> None:
    heap = [
        trace(
            f"Share the {name} album",
            tool("album_share", {"album": name, "groups": [f"{name}-fans", "family"]}),
            tool("album_lock", {"album": name}),
        )
        for name in ("summer", "winter", "garden")
    ]

    assert "`groups` = `{album}-fans, family`" in section(learned(*heap).body, "Procedure")[0]


def test_parameters_are_named_by_what_they_mean() -> None:
    heap = [
        trace(
            f"Add the translation key {key} to issue {number}",
            bash(f"i18n put {key}"),
            bash(f"gh issue edit {number} --add-label {label}"),
        )
        for key, number, label in (
            ("cart.empty", "12", "bug"),
            ("user.logout", "31", "wish"),
            ("page.title", "47", "text"),
        )
    ]

    table = section(learned(*heap).body, "Parameters")

    assert [row.split("`")[1] for row in table[2:]] == ["key", "issue", "label"]


def test_a_name_that_cannot_be_spelt_is_that_of_the_tool() -> None:
    heap = [
        trace(
            f"\u628a\u5468\u62a5\u53d1\u5230 {name}",
            tool("mcp__feishu__send", {"chat": name}),
            tool("x_y", {"q": name}),
        )
        for name in ("aa", "bb", "cc")
    ]

    assert learned(*heap).name.startswith("x-y-")
