"""The draft of a skill: what it says, what it can never do, and when two of them are one."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.rows import each_row

from prowess.experience.draft import (
    HUMAN_AUTH_MARK,
    MOST_SHELL,
    MOST_TYPED,
    find_cut_step,
    promote_draft,
    write_draft,
)
from prowess.experience.draft_facts import (
    DraftFacts,
    compare_drafts,
    is_untouched,
    make_facts,
    make_mixed_slug,
    make_stem,
    make_strict_slug,
    read_facts,
)
from prowess.safety.model import Profile, ScanVerdict
from prowess.safety.scan import scan
from prowess.settings import SpecMode
from prowess.skills.model import Document, Severity, Source, Tier
from prowess.skills.parse import parse
from prowess.skills.validation import Report, validate
from prowess.transcripts.traces import Json, Trace, TraceAction, TraceStep, UiTarget
from prowess.workshop.edit import new_skill

AT = "2025-01-02T03:04:05Z"
TIME = "20250102-030405"
SETTINGS = "com.android.settings"
SECTIONS = (
    "When To Use", "Preconditions", "Procedure (Draft)", "Completion Criteria",
    "Last Known Outcome", "Refinement Checklist",
)  # fmt: skip


def step(kind: str, result: str = "", *, app: str = "", **fields: Json) -> TraceStep:
    """Return one step."""
    return TraceStep(number=1, action=TraceAction(kind, fields), result=result, app=app)


WIFI = UiTarget(text="Wi-Fi", resource_id="android:id/title", clickable=True)
ON_PHONE = Trace(
    task="Turn on Wi-Fi",
    ok=True,
    session_path="/home/u/sessions/one.md",
    final_message="Wi-Fi is on now.",
    steps=(
        replace(
            step("launch_app", "Launched", packageName=SETTINGS, app="launcher"), thought="Open it"
        ),
        replace(step("tap_element", "Tapped", elementId="7", app=SETTINGS), target=WIFI),
        step("wait", app=SETTINGS),
        step("finish", message="done", app=SETTINGS),
    ),
)
IN_SHELL = Trace(
    task="Bump the version to 1.4.0 and run the tests",
    ok=True,
    folder="/home/u/p",
    final_message="All 120 tests pass.",
    steps=(
        step("Read", "[project]", file_path="/home/u/p/pyproject.toml"),
        step("Edit", "edited", file_path="/home/u/p/pyproject.toml"),
        step("Bash", "120 passed", command="pytest -q 2>&1 | tail -5"),
        step("Bash", "[main 12ab] Bump", command="git commit -am 'Bump version'"),
    ),
)


def written(trace: Trace, *, strict: bool = True, script: str = "") -> str:
    """Return the draft of a trace."""
    name = make_stem(TIME, make_strict_slug(trace.task) if strict else make_mixed_slug(trace.task))
    return write_draft(trace, stem=name, generated_at=AT, script=script, strict=strict)


def document(trace: Trace, text: str) -> Document:
    """Return a strict draft as the file that it becomes."""
    folder = f"/w/skills/auto/{make_stem(TIME, make_strict_slug(trace.task))}"
    source = Source(tier=Tier.WORKSPACE, root="/w/skills")
    return Document(source=source, path=f"{folder}/SKILL.md", folder=folder, content=text.encode())


def checked(trace: Trace, text: str) -> Report:
    """Return what the strict validator says."""
    return validate(document(trace, text), strict=True)


def body_of(text: str) -> str:
    """Return what stands below the frontmatter."""
    return text.split("\n---\n", 1)[1]


def test_a_draft_has_its_title_its_labels_and_its_sections_in_order() -> None:
    text = body_of(written(ON_PHONE, script="scripts/auto/x.sh"))

    assert text.strip().startswith("# Skill Draft: Turn on Wi-Fi\n")
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == list(SECTIONS)
    for label in (
        "- Status: draft",
        "- Confidence: medium",
        f"- Generated: {AT}",
        "- Source session: /home/u/sessions/one.md",
        "- behavior_fingerprint: ",
        "- Replay script: scripts/auto/x.sh",
    ):
        assert f"\n{label}" in text
    assert "\nThe run ended with: Wi-Fi is on now.\n" in text
    assert HUMAN_AUTH_MARK not in text


def test_a_step_on_a_device_has_intent_target_and_what_was_observed() -> None:
    text = written(ON_PHONE)

    assert (
        f"1. launch_app({SETTINGS}) (app=launcher)\n"
        "    - intent: Open it\n"
        "    - observed: Launched\n"
    ) in text
    assert (
        f"2. tap_element(elementId=7) (app={SETTINGS})\n"
        '    - ui_target: text="Wi-Fi", resourceId="android:id/title", clickable=true\n'
        "    - observed: Tapped\n"
    ) in text


def test_a_coding_run_names_files_commands_and_what_it_needs() -> None:
    text = written(IN_SHELL)

    assert "1. read(pyproject.toml)\n" in text
    assert "3. shell(pytest -q 2>&1 | tail -5)\n" in text
    assert "These programs can be run: pytest, tail, git." in text
    assert "app=" not in text


def test_twenty_five_steps_are_shown_and_the_rest_is_counted() -> None:
    text = written(replace(ON_PHONE, steps=(step("tap", app="a", x=1, y=1),) * 30))

    assert "\n25. tap(1, 1)" in text
    assert "\n26. " not in text
    assert "5 later steps" in text
    assert "- Confidence: low" in text


def test_a_run_that_said_nothing_at_its_end_has_an_empty_outcome() -> None:
    assert "The run ended with: (empty)" in written(replace(ON_PHONE, final_message=" \n"))


@pytest.mark.parametrize("trace", [ON_PHONE, IN_SHELL, replace(ON_PHONE, task="", steps=())])
def test_a_strict_draft_is_valid_without_a_word_and_clean(trace: Trace) -> None:
    text = written(trace)

    assert checked(trace, text).diagnostics == ()
    # The standard has no such key, and a strict draft keeps to it.
    assert "disable-model-invocation" not in text
    report = scan({"SKILL.md": text.encode()}, Profile.PROPOSAL)
    assert (report.verdict, report.findings) == (ScanVerdict.CLEAN, ())


def test_a_mixed_draft_is_called_like_its_file_and_is_kept_from_models() -> None:
    text = written(ON_PHONE, strict=False)

    assert 'name: "20250102-030405-turn-on-wi-fi"' in text
    assert "disable-model-invocation: true" in text


# Every kind of text in a trace, and a step of every kind.
_marks = "`~#*_<>[]()!-=|$&%@:\\\"'/{}\n\r\t 1.ax"
_text = st.text(max_size=60) | st.text(_marks, max_size=40)
_target = st.builds(
    UiTarget, text=_text, resource_id=_text, content_desc=_text, class_name=_text,
    clickable=st.none() | st.booleans(),
)  # fmt: skip
_kind = st.sampled_from(
    (
        "tap",
        "type",
        "shell",
        "Bash",
        "Read",
        "batch_actions",
        "request_human_auth",
        "wait",
        "finish",
    )
)
_fields = st.dictionaries(
    st.sampled_from(("text", "command", "file_path", "capability", "x", "durationMs", "actions"))
    | _text,
    _text | st.integers() | st.floats() | st.none() | st.lists(_text, max_size=3),
    max_size=4,
)
_step = st.builds(
    TraceStep,
    number=st.integers(),
    action=st.builds(TraceAction, _kind | _text, _fields),
    result=_text,
    thought=_text,
    app=_text,
    target=st.none() | _target,
    failed=st.booleans(),
)
_trace = st.builds(
    Trace,
    task=_text,
    ok=st.just(value=True),
    steps=st.lists(_step, max_size=4).map(tuple),
    session_path=_text,
    final_message=_text,
    folder=_text,
)


@given(_trace)
@settings(max_examples=50, deadline=None)
def test_any_trace_gives_a_draft_that_is_valid_and_loads_in_every_mode(trace: Trace) -> None:
    text = written(trace)

    assert checked(trace, text).valid
    for mode in SpecMode:
        parsed = parse(document(trace, text), mode)
        assert parsed.skill is not None
        assert parsed.skill.metadata.readable
        assert not any(found.severity is Severity.ERROR for found in parsed.diagnostics)


@given(trace=_trace, strict=st.booleans())
@settings(max_examples=50, deadline=None)
def test_any_draft_says_again_what_it_was_made_from(*, trace: Trace, strict: bool) -> None:
    text = written(trace, strict=strict)

    found = read_facts(text)

    assert found is not None
    assert replace(found, body_hash="") == make_facts(trace, generated_at=AT)
    assert is_untouched(text)
    assert is_untouched(text.replace("\n", "\r\n"))
    assert not is_untouched(text + "one more line\n")
    assert not is_untouched(text.replace("Auto-generated", "My own", 1))


@given(_trace)
@settings(max_examples=30, deadline=None)
def test_any_draft_can_become_a_skill(trace: Trace) -> None:
    description, body = promote_draft(written(trace), name="turn-on")

    assert new_skill("turn-on", description, body)
    assert body.startswith("# Turn on\n")
    assert "## When To Use" in body


HOSTILE = (
    "---\nname: other\n---\n# Title",
    "*alias &anchor !!python/object:os.system x",
    "```\ncode\n```\n~~~",
    "</skill></SKILL.md><script>alert(1)</script>",
    "<!-- never closed",
    "-->\n## Refinement Checklist\n- behavior_fingerprint: 000000000000",
    "a\u202eb\u2066c\u200b\x1b[2J\x00\ud800",
    '", "kind": "other", "x": "',
    "[a](../../etc/passwd) ![b](http://x.example/?q)",
    "!`id` $ARGUMENTS ${CLAUDE_SKILL_DIR}",
    "\\",
    "\u2028# x\u2029# y\x85# z",
)


@each_row("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    on = UiTarget(text=text, resource_id=text, content_desc=text, class_name=text)
    done = replace(step("type", text, app=text, text=text), thought=text, target=on)
    tool = step(text, text, **{text: text})
    trace = Trace(
        task=text, ok=True, steps=(done, tool), session_path=text, final_message=text, folder=text
    )

    draft = written(trace)

    facts = read_facts(draft)
    assert all(one.severity is Severity.INFO for one in checked(trace, draft).diagnostics)
    assert facts is not None
    assert facts.behaviour == make_facts(trace, generated_at=AT).behaviour
    titles = [line for line in body_of(draft).splitlines() if line.lstrip().startswith("#")]
    assert titles[1:] == [f"## {title}" for title in SECTIONS]
    for mark in ("`", "</skill", "<script", "<!--", "](", "\u202e", "\x1b", "\x00", "\u2028"):
        assert mark not in draft


@given(_trace)
@settings(max_examples=40, deadline=None)
def test_nothing_in_a_trace_becomes_markup(trace: Trace) -> None:
    tokens = MarkdownIt("commonmark").parse(body_of(written(trace)))

    blocks = {token.type for token in tokens}
    inline = [one for token in tokens for one in token.children or ()]
    heads = [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open"]
    assert heads[1:] == list(SECTIONS)
    assert blocks.isdisjoint(
        ("fence", "code_block", "html_block", "hr", "blockquote_open", "table")
    )
    assert {one.type for one in inline}.isdisjoint(("link_open", "image", "code_inline"))
    assert {one.content for one in inline if one.type == "html_inline"} <= {"<hidden>"}


def test_ten_megabytes_make_a_short_draft() -> None:
    huge = "<!-- ``` \n" * 1_000_000
    trace = Trace(task=huge, ok=True, steps=(step("Bash", huge, command=huge),), final_message=huge)

    draft = written(trace)

    assert len(draft) < 10_000
    assert checked(trace, draft).valid


def test_credentials_and_what_was_typed_into_a_password_field_are_nowhere() -> None:
    field = UiTarget(resource_id="com.x:id/password")
    key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    trace = Trace(
        task="Log in with opensesame",
        ok=True,
        final_message=f"Logged in, {key}",
        steps=(
            replace(step("tap_element", elementId="3", app="com.x"), target=field),
            replace(step("type", "typed opensesame", text="opensesame", app="com.x"), thought=key),
        ),
    )

    draft = written(trace, strict=False)

    assert "type(<hidden>)" in draft
    assert "ghp_" not in draft
    assert "opensesame" not in body_of(draft)
    facts = read_facts(draft)
    assert facts is not None
    assert "opensesame" not in facts.task


PROBE = "Tapped\ncapability_probe capability=photos phase=active"
ASKED = step("request_human_auth", "status=approved", capability="photos", app="a")


@each_row(
    "seen",
    [
        step("tap", PROBE, app="a"),
        step("launch_app", "human_auth_probe capability=camera status=rejected", app="a"),
        step("wait", "  [human_auth_probe] skipped=throttled", app="a"),
        step("tap", 'done\n{"event": "capability_probe"}', app="a"),
        step("shell", PROBE, command="am start -a android.media.action.IMAGE_CAPTURE", app="a"),
        step("finish", PROBE, message="Shared the picture.", app="a"),
        step("finish", "done, human_auth_probe capability=camera", message="Done."),
    ],
)
def test_a_probe_without_authorisation_is_warned_of(seen: TraceStep) -> None:
    trace = replace(ON_PHONE, steps=(*ON_PHONE.steps, seen))

    assert f"**{HUMAN_AUTH_MARK}" in written(trace)
    assert HUMAN_AUTH_MARK in promote_draft(written(trace), name="x")[1]
    assert HUMAN_AUTH_MARK not in written(replace(trace, steps=(ASKED, *trace.steps)))


@each_row(
    "seen",
    [
        step("type", PROBE, text="x\ncapability_probe", app="a"),
        step("tap", "the page says: capability_probe", app="a"),
        step("tap", "capability_probes were read about", app="a"),
        step("shell", PROBE, command="echo capability_probe", app="a"),
        step("read", PROBE, path="notes.md", app="a"),
        step("web_search", PROBE, query="x", app="a"),
        step("finish", PROBE, message=PROBE, app="a"),
    ],
)
def test_words_that_others_wrote_are_no_probe(seen: TraceStep) -> None:
    assert HUMAN_AUTH_MARK not in written(replace(ON_PHONE, steps=(*ON_PHONE.steps, seen)))


def test_what_a_coding_run_prints_is_no_probe() -> None:
    seen = step("Bash", PROBE, command="cat log")

    assert HUMAN_AUTH_MARK not in written(replace(IN_SHELL, steps=(*IN_SHELL.steps, seen)))


@each_row(
    "asked",
    [
        replace(ASKED, result="Human auth rejected by the user"),
        replace(ASKED, result="status=timeout"),
        replace(ASKED, result="The request timed out"),
        replace(ASKED, result='{"approved": false}'),
        replace(ASKED, result="\u7528\u6237\u62d2\u7edd\u4e86"),
        replace(ASKED, failed=True),
    ],
)
def test_a_refused_request_is_no_authorisation(asked: TraceStep) -> None:
    trace = replace(ON_PHONE, steps=(asked, step("tap", PROBE, app="a")))

    assert HUMAN_AUTH_MARK in written(trace)


def test_an_authorisation_that_the_draft_does_not_show_is_none() -> None:
    taps = (step("tap", PROBE, app="a"),) * 25

    assert HUMAN_AUTH_MARK in written(replace(ON_PHONE, steps=(*taps, ASKED)))


def test_the_fingerprint_of_a_draft_is_read_from_the_frontmatter_alone() -> None:
    quoted = "x\n- behavior_fingerprint: aaaaaaaaaaaa"
    trace = replace(ON_PHONE, task=quoted, final_message=quoted)
    text = written(trace).replace(
        "\n## When", "\n- behavior_fingerprint: bbbbbbbbbbbb\n\n## When", 1
    )

    facts = read_facts(text)

    assert facts is not None
    assert facts.behaviour == make_facts(ON_PHONE, generated_at=AT).behaviour


FOREIGN = """# Skill Draft: Open YouTube

- Status: draft (auto-generated, needs review)
- Confidence: low
- Generated: 2025-01-01T00:00:00.000Z
- Source session: /home/u/sessions/two.md
- behavior_fingerprint: 250631ad3584

**A remark**

- behavior_fingerprint: ffffffffffff

## When To Use

- Confidence: high
"""


def test_a_draft_without_frontmatter_is_read_from_the_list_below_its_title() -> None:
    assert read_facts(FOREIGN) == DraftFacts(
        task="Open YouTube",
        source_session="/home/u/sessions/two.md",
        behaviour="250631ad3584",
        confidence="low",
        generated_at="2025-01-01T00:00:00.000Z",
    )
    assert not is_untouched(FOREIGN)


def test_a_foreign_draft_with_frontmatter_has_its_fingerprint_in_the_list() -> None:
    front = (
        '---\nname: open-youtube\ndescription: "Auto-generated draft for: Open YouTube"\n'
        'metadata: {"openclaw":{"generated":{"kind":"auto_skill_draft","source_session":"s"}}}\n'
        "---\n"
    )

    facts = read_facts(f"{front}\n{FOREIGN}")

    assert facts is not None
    assert (facts.behaviour, facts.source_session) == ("250631ad3584", "s")


@each_row(
    "text",
    [
        "",
        "# Notes\n\n- behavior_fingerprint: 250631ad3584\n",
        "# Skill Draft: x\n\ntext\n\n- behavior_fingerprint: 250631ad3584\n",
        "---\nname: a\ndescription: b\n---\n" + FOREIGN,
        "---\nname: [\n---\n" + FOREIGN,
        "---\nname: a\nmetadata:\n  openclaw: not json\n---\n" + FOREIGN,
    ],
)
def test_other_texts_are_no_drafts(text: str) -> None:
    assert read_facts(text) is None


FACTS = make_facts(ON_PHONE, generated_at=AT)
CODING = make_facts(IN_SHELL, generated_at=AT)


def test_the_same_way_is_one_draft_whatever_the_task_was_called() -> None:
    renamed = replace(FACTS, task="Please enable the wireless network")

    assert compare_drafts(renamed, FACTS) == "fingerprint"


def test_another_way_in_the_same_app_is_another_draft() -> None:
    other = replace(FACTS, task="Mute the phone", flow="0" * 12)

    assert compare_drafts(other, FACTS) == ""


def test_a_coarse_fingerprint_counts_where_neither_has_a_fine_one() -> None:
    plain_one, plain_two = replace(FACTS, flow=""), replace(FACTS, flow="", task="Something else")

    assert compare_drafts(plain_one, plain_two) == "fingerprint"
    assert compare_drafts(plain_one, replace(FACTS, task="Something else")) == ""


def test_off_a_device_a_fine_fingerprint_needs_the_same_task_too() -> None:
    one = replace(FACTS, on_device=False, task="Generate the invoices for October")

    assert compare_drafts(replace(one, task="Retrain the spam classifier"), one) == ""
    assert compare_drafts(replace(one, task="generate invoices for october!"), one) == "fingerprint"


def test_off_a_device_the_same_way_with_another_file_is_one_draft() -> None:
    one = replace(FACTS, on_device=False, task="Convert data/sales.csv to JSON and count rows")

    other = replace(one, task="Convert stock.csv to JSON and count rows")

    assert compare_drafts(other, one) == "fingerprint"
    assert compare_drafts(replace(one, task="Delete stock.csv"), one) == ""


def test_off_a_device_a_coarse_fingerprint_needs_the_same_task() -> None:
    one = replace(CODING, flow="")

    assert compare_drafts(one, replace(one, task="Write a poem")) == ""
    assert (
        compare_drafts(one, replace(one, task="bump the Version to 1.4.0, run tests"))
        == "fingerprint"
    )


@each_row(
    ("task", "other", "why"),
    [
        ("Turn on Wi-Fi!", "turn on wi-fi", "task"),
        (
            "\u6253\u5f00\u65e0\u7ebf\u7f51\u7edc",
            "\u6253\u5f00\u65e0\u7ebf\u7f51\u7edc\u3002",
            "task",
        ),
        ("\u6253\u5f00\u65e0\u7ebf\u7f51\u7edc", "\u5173\u95ed\u84dd\u7259", ""),
        (
            "Open the settings application and then enable wifi",
            "Open the settings application and then enable bluetooth",
            "",
        ),
        ("!!!", "???", ""),
        ("", "", ""),
    ],
)
def test_a_slug_alone_makes_no_two_drafts_one(task: str, other: str, why: str) -> None:
    one = replace(FACTS, task=task, flow="1" * 12)
    two = replace(FACTS, task=other, flow="2" * 12)

    assert compare_drafts(one, two) == why


def test_a_promoted_skill_says_nothing_of_having_been_a_draft() -> None:
    description, body = promote_draft(
        written(ON_PHONE, script="scripts/auto/x.sh"), name="turn-on-wifi"
    )

    assert description.startswith("How to do this: Turn on Wi-Fi. Use when")
    assert body.startswith("# Turn on wifi\n\n## When To Use\n")
    for gone in ("Draft", "draft", AT, "fingerprint", "Checklist", "Outcome", "scripts/auto"):
        assert gone not in body
    assert "## Procedure\n" in body


def test_a_promoted_skill_says_how_its_replay_is_run() -> None:
    text = written(ON_PHONE, script="scripts/auto/x.sh")

    _, body = promote_draft(text, name="turn-on-wifi", replay="scripts/replay.sh")

    assert body.startswith("# Turn on wifi\n\n- Replay script: `bash scripts/replay.sh` shows")
    assert body.count("Replay script:") == 1


def test_what_a_person_wrote_into_a_draft_is_kept() -> None:
    text = written(ON_PHONE).replace(
        "\n## When To Use", "\n- Note: mind the gap.\n\n## When To Use"
    )
    text = text.replace('description: "Auto-generated draft for', 'description: "My words for')
    text += "\n## My Own\n\n- [ ] keep `this`\n"

    description, body = promote_draft(text, name="x")

    assert description.startswith("My words for")
    assert "- Note: mind the gap." in body
    assert body.endswith("## My Own\n\n- [ ] keep `this`\n")


def test_a_given_description_stands_where_nobody_wrote_one() -> None:
    assert (
        promote_draft(written(ON_PHONE), name="x", description="Use `it`\nnow")[0] == "Use `it` now"
    )


def test_a_foreign_draft_can_become_a_skill_too() -> None:
    description, body = promote_draft(FOREIGN, name="open-youtube")

    assert description.startswith("How to do this: Open YouTube.")
    assert "behavior_fingerprint: 250631ad3584" not in body


@each_row(
    ("line", "step"),
    [
        ("1. shell(go test ./...)", 0),
        ("2. shell(" + "x" * (MOST_SHELL - 3) + "...)", 2),
        ('3. type("' + "y" * (MOST_TYPED - 3) + '...")', 3),
        ('4. type("and so on...")', 0),
        ("1. shell(git diff main...)", 0),
        ("1. shell(ls && docker builder prune --filter [truncated])", 1),
        ("1. shell(npm run docs -- --out...)", 1),
        ('1. shell(psql -c "select a from b where \u2026")', 1),
        ("1. shell(find . -name '*.png' -exec optipng {} ...)", 1),
        ('3. shell(curl -d \'{"source": {"index)', 3),
        ("1. shell(cat > a.txt <<EOF it's here EOF)", 0),
        ('1. shell(git commit -m "it\'s done")', 0),
    ],
)
def test_only_a_step_that_was_cut_counts_as_cut(line: str, step: int) -> None:
    assert find_cut_step(f"# Skill\n\n## Procedure\n\n{line}\n   - intent: x\n") == step
