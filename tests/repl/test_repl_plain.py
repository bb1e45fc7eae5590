"""The prompt without a terminal, in this process: what comes in by pieces, and what is handed on."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from ggactors.repl.face import Leaving, Typed
from ggactors.repl.plain import PlainFace

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


async def heard(pieces: list[bytes]) -> list[object]:
    """Give what a face hands on when its input comes in these pieces and ends."""
    with open(os.devnull, "wb") as nowhere, pipe() as (into, out):
        async with PlainFace(into, nowhere.fileno(), scripted=True).opened() as given:
            found: list[object] = []
            for piece in pieces:
                os.write(out, piece)
                await trio.testing.wait_all_tasks_blocked(0.02)
            os.dup2(nowhere.fileno(), out)  # the end of the input: nobody can write any more
            async for one in given:
                found.append(one)
                if isinstance(one, Leaving):
                    return found
    raise AssertionError("the end of the input was not heard")


@pytest.mark.parametrize("cut", [0, 3, 4, 6, 7, 8, 9])
async def test_a_line_is_continued_over_any_number_of_lines_however_they_come(cut):
    text = b"one\\\ntwo\\\r\nthree\nfour\n"
    assert await heard([text[:cut], text[cut:]]) == [Typed("one\ntwo\nthree"), Typed("four"), Leaving(gone=True)]


async def test_lines_typed_one_by_one_are_continued_too():
    assert await heard([b"one\\\n", b"two\\\n", b"three\n"]) == [Typed("one\ntwo\nthree"), Leaving(gone=True)]


async def test_what_the_end_of_the_input_cuts_off_is_handed_on():
    assert await heard([b"one\\\n", b"two"]) == [Typed("one\ntwo"), Leaving(gone=True)]
