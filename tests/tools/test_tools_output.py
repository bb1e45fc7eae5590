"""A command's output: bounded in memory, whole in its file, masked in both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggactors.tools import output
from ggactors.tools.mask import Mask
from ggactors.tools.output import FILES, HEAD, TAIL, Outputs, Recorder
from ggactors.tools.render import bound


@pytest.fixture
def outputs(tmp_path: Path) -> Outputs:
    return Outputs(str(tmp_path / "scratch"))


def record(outputs: Outputs, pieces: list[bytes], mask: Mask | None = None) -> Recorder:
    recorder = Recorder(outputs, mask or Mask())
    for piece in pieces:
        recorder.feed(piece)
    recorder.close()
    return recorder


def test_a_short_output_is_shown_whole_and_makes_no_file(outputs):
    recorder = record(outputs, [b"a" * HEAD, b"b" * TAIL])
    assert recorder.text() == "a" * HEAD + "b" * TAIL
    assert (recorder.truncated, recorder.path) == (False, None)
    assert not Path(outputs.folder).exists()


def test_a_long_output_shows_head_and_tail_and_names_the_file_that_holds_it_all_H48(outputs):
    whole = b"".join(b"%d\n" % number for number in range(20_000))
    recorder = record(outputs, [whole])
    text = recorder.text()
    assert text.startswith("0\n1\n")
    assert text.endswith("19998\n19999\n")
    assert f"all of it is in {recorder.path}" in text
    assert len(text) < HEAD + TAIL + 200
    assert Path(recorder.path).read_bytes() == whole


def test_past_the_cap_the_middle_of_the_file_is_dropped_and_said_so(outputs, monkeypatch):
    monkeypatch.setattr(output, "KEPT", 50_000)
    recorder = record(outputs, [b"x" * 10_000] * 20 + [b"end"])
    kept = Path(recorder.path).read_bytes()
    assert len(kept) < 50_000 + TAIL + 100
    assert kept.startswith(b"x" * 50_000 + b"\n[")
    assert b"bytes were dropped here]\n" in kept
    assert kept.endswith(b"end")


def test_a_disk_that_refuses_costs_the_file_only(tmp_path):
    (tmp_path / "scratch").write_text("a file where the folder should be")
    recorder = record(Outputs(str(tmp_path / "scratch")), [b"x" * 100_000])
    assert recorder.path is None
    assert recorder.truncated
    assert "left out here …" in recorder.text()


def test_a_disk_that_fills_up_leaves_no_part_of_a_file(outputs, monkeypatch):
    recorder = Recorder(outputs, Mask())
    recorder.feed(b"x" * 50_000)
    path = Path(recorder.path)
    assert path.exists()

    def full(descriptor: int, piece: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    recorder.feed(b"x" * 50_000)
    recorder.close()
    monkeypatch.undo()
    assert recorder.path is None
    assert not path.exists()


def test_the_oldest_kept_output_goes_when_there_are_many(outputs):
    paths = [outputs.keep("result", str(number)) for number in range(FILES + 3)]
    assert [Path(path).exists() for path in paths] == [False] * 3 + [True] * FILES


def test_a_cut_between_two_bytes_of_a_character_shows_no_broken_one(outputs):
    text = record(outputs, [("ü" * 20_001).encode(), b"x"]).text()
    assert "\ufffd" not in text


PIECES = st.lists(st.binary(max_size=40) | st.sampled_from([b"secret-key", b"sec", b"ret-key"]), max_size=12)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=PIECES, head=st.integers(0, 20), tail=st.integers(1, 20), cap=st.integers(20, 80))
def test_however_it_arrives_it_is_bounded_masked_and_kept(outputs, pieces, head, tail, cap):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("HEAD", head), ("TAIL", tail), ("KEPT", cap)):
            patch.setattr(output, name, value)
        recorder = record(outputs, pieces, Mask({"KEY": "secret-key"}))
        text, truncated = recorder.text(), recorder.truncated
    whole = b"".join(pieces).replace(b"secret-key", b"[masked:KEY]")
    text.encode()
    assert "secret-key" not in text
    assert truncated == (len(whole) > head + tail)
    if not truncated:
        assert text == whole.decode("utf-8", "replace")
        return
    kept = Path(recorder.path).read_bytes()
    if len(whole) <= cap:
        assert kept == whole
    assert kept.startswith(whole[: min(cap, len(whole) - tail)])
    assert kept.endswith(whole[-tail:])
    assert len(kept) <= max(cap, head) + tail + 60


@given(text=st.text(st.characters(), max_size=200), most=st.integers(8, 100))
def test_a_bounded_text_is_valid_and_says_what_it_left_out(text, most):
    kept: list[str] = []

    def keep(whole: str) -> str:
        kept.append(whole)
        return "/scratch/x"

    shown = bound(text, most, keep)
    shown.encode()
    assert "\0" not in shown
    if len(text) <= most:
        assert not kept
        assert len(shown) == len(text)
    else:
        assert len(shown) <= most + 80
        assert len(kept[0]) == len(text)
        assert "all of it is in /scratch/x" in shown
