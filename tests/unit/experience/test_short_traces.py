"""Traces cut to what is compared, however large they are."""

from tests.unit.experience.trace_heaps import bash, tool, trace

from prowess.experience.lessons.moves import MOST_STEPS, find_moves, shorten_trace


def test_what_can_be_a_move_survives() -> None:
    words: list[str] = ["bash", "-lc", "make all"]
    given = trace(
        "Do it",
        tool("exec", {"command": words}),
        tool("local_shell", {"action": {"command": words}}),
        tool("batch_actions", {"actions": [{"type": "tap", "x": 1, "y": 2}]}),
        tool("mcp__a__b", {"where": {"city": "Bern"}}),
    )

    assert find_moves(shorten_trace(given)) == find_moves(given)


def test_rows_and_fields_beyond_any_move_are_left_out() -> None:
    taps = [{"type": "tap", "where": "there"}] * 40
    wide = {f"k{at}": "v" for at in range(2_000)}
    given = trace(
        "Do it",
        tool("batch_actions", {"actions": [{"type": "batch_actions", "actions": taps}] * 40}),
        tool("x", {"f": wide}),
    )

    short = shorten_trace(given)

    for before, after in zip(given.steps, short.steps, strict=True):
        assert len(str(after.action.fields)) < len(str(before.action.fields)) / 10


def test_a_trace_ends_where_it_has_become_too_large() -> None:
    many = trace("Do it", *(bash(f"make t{at}") for at in range(2 * MOST_STEPS)))
    heavy = trace("Do it", *(bash(f"echo {at} {'x' * 3_900}") for at in range(MOST_STEPS)))

    assert len(shorten_trace(many).steps) == MOST_STEPS
    assert 20 < len(shorten_trace(heavy).steps) < MOST_STEPS
