"""What a hook reads from an input that is closed, left open, slow or too long."""

import io
import os
import sys
import threading
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import pytest

from prowess.host.harness.hook_client import read_input

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it reads to the end there")

MOST = 1 << 20
WHOLE = b'{"hook_event_name": "Stop", "nested": {"a": [1, 2]}}'


class Pipe(NamedTuple):
    """Both ends of a pipe."""

    reads: BinaryIO
    writes: BinaryIO


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reads, os.fdopen(writing, "wb", buffering=0) as writes:
        yield Pipe(reads, writes)


@pytest.mark.parametrize("given", [b"", WHOLE, WHOLE[:20], b"x" * 300_000 + b"}"])
def test_all_of_a_closed_input_is_read(pipe: Pipe, given: bytes) -> None:
    def write() -> None:
        with pipe.writes as writes:
            writes.write(given)

    writer = threading.Thread(target=write)
    writer.start()
    found = read_input(pipe.reads, MOST, silence_s=60.0, all_s=60.0)
    writer.join()

    assert found == given


@pytest.mark.parametrize("end", [b"", b"\n", b" \r\n"])
def test_a_complete_payload_is_enough_where_nobody_closes(pipe: Pipe, end: bytes) -> None:
    pipe.writes.write(WHOLE + end)

    assert read_input(pipe.reads, MOST, silence_s=60.0, all_s=60.0) == WHOLE + end


def test_what_only_looks_complete_is_waited_for(pipe: Pipe) -> None:
    at = WHOLE.index(b"}") + 1
    pipe.writes.write(WHOLE[:at])

    def write_the_rest() -> None:
        with pipe.writes as writes:
            writes.write(WHOLE[at:])

    rest = threading.Timer(0.05, write_the_rest)
    rest.start()
    found = read_input(pipe.reads, MOST, silence_s=60.0, all_s=60.0)
    rest.join()

    assert found == WHOLE


@pytest.mark.parametrize("given", [b"", b"{", b"}", b"[" * 1_000 + b"}"])
def test_nobody_is_waited_for_for_ever(pipe: Pipe, given: bytes) -> None:
    pipe.writes.write(given)

    assert read_input(pipe.reads, MOST, silence_s=0.01, all_s=0.02) == given


def test_no_more_is_read_than_was_asked_for(pipe: Pipe) -> None:
    pipe.writes.write(b"x" * 100)

    assert read_input(pipe.reads, 10) == b"x" * 10


def test_what_is_no_file_of_the_system_is_read_as_it_is() -> None:
    assert read_input(io.BytesIO(WHOLE), 5) == WHOLE[:5]
