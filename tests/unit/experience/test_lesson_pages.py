"""What the page of a lesson says about steps and values in which its runs differed."""

from tests.unit.experience import trace_heaps as heaps
from tests.unit.experience.trace_heaps import bash, tap, touch, trace

from prowess.experience.lessons.alignment import align
from prowess.experience.lessons.skill import LearnedSkill, write_skill
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
