"""Reading, writing, editing and listing: exact bytes in, exact bytes out, every trouble an answer."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggactors.protocol.values import Code, Refused
from ggactors.protocol.workbench import DirEntry, DirListed, FileEdited, FileRead, FileWritten
from ggactors.tools import reading, writing
from ggactors.tools.paths import Declined, Ground
from ggactors.tools.workbench import AT_ONCE, LocalWorkbench


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def bench(root: Path) -> LocalWorkbench:
    return LocalWorkbench(root, scratch=root.parent / "scratch", env={"PATH": os.environ["PATH"]})


def leftovers(root: Path) -> list[str]:
    scratch = root.parent / "scratch"
    return [
        name for folder in (root, scratch) if folder.exists() for name in os.listdir(folder) if name.endswith(".tmp")
    ]


async def refused(answer: object) -> Refused:
    assert isinstance(answer, Refused), answer
    return answer


# ---------------------------------------------------------------- reading


async def test_a_whole_file_is_read_exactly(root, bench):
    (root / "f").write_bytes("a\r\nb\tü\n".encode())
    assert await bench.read_file("f") == FileRead(path="f", text="a\r\nb\tü\n", size=8, first=1, last=2, total=2)


async def test_a_window_of_lines_says_what_it_is(root, bench):
    (root / "f").write_text("".join(f"{n}\n" for n in range(1, 11)))
    read = await bench.read_file("f", offset=3, limit=2)
    assert (read.text, read.first, read.last, read.total) == ("3\n4\n", 3, 4, 10)
    rest = await bench.read_file("f", offset=9)
    assert (rest.text, rest.last, rest.total) == ("9\n10\n", 10, 10)


async def test_an_offset_past_the_end_names_the_length(root, bench):
    (root / "f").write_text("a\nb")
    answer = await refused(await bench.read_file("f", offset=3))
    assert answer.code is Code.INVALID_ARGUMENT
    assert "has 2 lines" in answer.message


async def test_an_empty_file_is_read_as_empty(root, bench):
    (root / "f").touch()
    read = await bench.read_file("f")
    assert (read.text, read.size, read.total) == ("", 0, 0)


async def test_a_long_file_is_cut_at_a_line_and_can_be_gone_on_with(root, bench):
    line = "x" * 99 + "\n"
    (root / "f").write_text(line * 10_000)
    read = await bench.read_file("f")
    assert len(read.text) <= reading.MOST_BYTES
    assert read.text == line * read.last
    assert read.total == 10_000
    went_on = await bench.read_file("f", offset=read.last + 1)
    assert went_on.first == read.last + 1
    assert went_on.text.startswith(line)


async def test_a_line_that_is_too_long_is_cut_between_characters(root, bench):
    (root / "f").write_text("ü" * 300_000 + "\nshort\n")
    read = await bench.read_file("f")
    assert read.cut
    assert "\ufffd" not in read.text
    assert (read.first, read.last, read.total) == (1, 1, 2)


async def test_bytes_that_are_not_utf8_are_replaced_H49(root, bench):
    (root / "f").write_bytes(b"a\xf0b\n")
    assert (await bench.read_file("f")).text == "a\ufffdb\n"


async def test_a_binary_file_is_described(root, bench):
    (root / "p").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (root / "b").write_bytes(b"abc\0")
    assert (await bench.read_file("p")).binary == "PNG image"
    read = await bench.read_file("b")
    assert (read.binary, read.text, read.size) == ("binary data", "", 4)


@pytest.mark.parametrize("make", ["fifo", "directory", "socket"])
async def test_what_is_no_regular_file_is_not_opened(root, bench, make):
    if make == "fifo":
        os.mkfifo(root / "f")
    elif make == "directory":
        (root / "f").mkdir()
    else:
        os.mknod(root / "f", stat.S_IFSOCK | 0o600)
    for answer in (await bench.read_file("f"), await bench.write_file("f", "x"), await bench.edit_file("f", "a", "b")):
        assert (await refused(answer)).code in (Code.REFUSED, Code.INVALID_ARGUMENT)


async def test_a_missing_file_is_not_found(bench):
    assert (await refused(await bench.read_file("nope"))).code is Code.NOT_FOUND
    assert (await refused(await bench.read_file("no/pe"))).code is Code.NOT_FOUND
    assert (await refused(await bench.edit_file("nope", "a", "b"))).code is Code.NOT_FOUND
    assert (await refused(await bench.list_dir("nope"))).code is Code.NOT_FOUND


async def test_a_name_that_is_too_long_is_an_answer(bench):
    assert (await refused(await bench.read_file("x" * 300))).code is Code.INVALID_ARGUMENT
    assert (await refused(await bench.write_file("x" * 300, ""))).code is Code.INVALID_ARGUMENT
    assert (await refused(await bench.read_file("x/" * 3000))).code in (Code.NOT_FOUND, Code.INVALID_ARGUMENT)


async def test_a_root_that_is_gone_is_an_answer(root, bench):
    root.rmdir()
    assert (await refused(await bench.read_file("f"))).code is Code.NOT_FOUND
    assert (await refused(await bench.write_file("f", ""))).code is Code.NOT_FOUND
    assert (await refused(await bench.list_dir())).code is Code.NOT_FOUND
    assert (await refused(await bench.search_files("x"))).code is Code.NOT_FOUND
    assert (await refused(await bench.run("true"))).code is Code.IO_ERROR


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    contents=st.text("ab\n\r", max_size=30).map(str.encode),
    offset=st.none() | st.integers(1, 8),
    limit=st.none() | st.integers(1, 8),
)
def test_windows_are_slices_of_the_lines(root, contents, offset, limit):
    (root / "f").write_bytes(contents)
    lines = contents.split(b"\n")
    lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    start = (offset or 1) - 1
    ground = Ground(str(root))
    if start and start >= len(lines):
        with pytest.raises(Declined):
            reading.read_file(ground, "f", offset, limit)
        return
    read = reading.read_file(ground, "f", offset, limit)
    wanted = lines[start:] if limit is None else lines[start : start + limit]
    assert read.text.encode() == b"".join(wanted)
    assert (read.first, read.last, read.total) == (start + 1, start + len(wanted), len(lines))


# ---------------------------------------------------------------- writing


async def test_a_file_is_written_with_its_directories(root, bench):
    assert await bench.write_file("a/b/c.txt", "ü\r\n") == FileWritten(path="a/b/c.txt", bytes=4)
    assert (root / "a/b/c.txt").read_bytes() == "ü\r\n".encode()
    assert leftovers(root) == []


async def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(root, bench):
    before = os.umask(0o027)
    try:
        await bench.write_file("new", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o640
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o755)
    await bench.write_file("run.sh", "new")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o755
    await bench.edit_file("run.sh", "new", "newer")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o755


async def test_a_link_stays_a_link_and_its_target_is_written(root, bench):
    (root / "real").write_text("old")
    (root / "link").symlink_to("real")
    (root / "dangling").symlink_to("made")
    await bench.write_file("link", "new")
    await bench.edit_file("link", "new", "newer")
    await bench.write_file("dangling", "made")
    assert (root / "link").is_symlink()
    assert (root / "real").read_text() == "newer"
    assert (root / "made").read_text() == "made"


async def test_a_hard_link_outside_keeps_its_contents(root, bench):
    outside = root.parent / "outside"
    outside.write_text("old")
    os.link(outside, root / "f")
    await bench.write_file("f", "new")
    assert outside.read_text() == "old"


async def test_a_large_file_is_written_in_a_thread_all_the_same(root, bench):
    contents = "x" * (AT_ONCE * 3)
    assert (await bench.write_file("big", contents)).bytes == len(contents)
    assert (root / "big").read_text() == contents
    assert (await bench.edit_file("big", contents, "small")).replacements == 1
    assert (root / "big").read_text() == "small"


async def test_a_directory_is_not_overwritten(root, bench):
    (root / "d").mkdir()
    for path in ("d", ".", "d/..", "d/../d", "new/", "new/."):
        assert (await refused(await bench.write_file(path, "x"))).code is Code.INVALID_ARGUMENT


async def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_else(root, bench, monkeypatch):
    (root / "f").write_text("old")
    real = os.write

    def full(descriptor: int, piece: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".tmp"):
            raise OSError(28, "No space left on device")
        return real(descriptor, piece)

    monkeypatch.setattr(os, "write", full)
    for answer in (
        await bench.write_file("f", "new"),
        await bench.edit_file("f", "old", "new"),
        await bench.write_file("g", ""),
    ):
        if isinstance(answer, Refused):
            assert answer.code is Code.IO_ERROR
            assert "No space left" in answer.message
    monkeypatch.undo()
    assert (root / "f").read_text() == "old"
    assert leftovers(root) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs the superuser")
def test_a_really_full_disk_is_an_answer(root):
    program = """
import os, sys, trio
from pathlib import Path
from ggactors.tools.workbench import LocalWorkbench
async def main():
    root = Path(sys.argv[1])
    bench = LocalWorkbench(root, scratch=root / "scratch", env={"PATH": os.environ["PATH"]})
    await bench.write_file("f", "old")
    print((await bench.write_file("f", "x" * 400_000)).code, (await bench.write_file("g", "x" * 10_000)))
    print((root / "f").read_text(), sorted(os.listdir(root)), os.listdir(root / "scratch"))
    print((await bench.run("head -c 300000 /dev/zero | tr '\\\\0' x")).full_output)
trio.run(main)
"""
    script = 'mount -t tmpfs -o size=128k tmpfs "$1" || exit 77; exec "$2" -c "$3" "$1"'
    import sys

    command = ["unshare", "-m", "/bin/sh", "-c", script, "sh", str(root), sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    if done.returncode in (1, 77) and "ggactors" not in done.stderr:
        pytest.skip(f"no mount here: {done.stderr}")
    assert done.stdout.splitlines() == [
        "io-error FileWritten(path='g', bytes=10000)",
        "old ['f', 'g', 'scratch'] []",
        "None",
    ], done.stderr


async def test_a_scratch_folder_that_cannot_be_made_is_done_without(root):
    blocked = root.parent / "blocked"
    blocked.write_text("a file where the folder should be")
    bench = LocalWorkbench(root, scratch=blocked / "scratch", env={})
    assert await bench.write_file("f", "x") == FileWritten(path="f", bytes=1)
    assert os.listdir(root) == ["f"]


async def test_a_cancelled_write_is_whole_or_not_there(root, bench):
    (root / "f").write_text("old")
    contents = "x" * (AT_ONCE * 4)
    with trio.CancelScope() as scope:
        scope.cancel()
        await bench.write_file("f", contents)
    assert (root / "f").read_text() in ("old", contents)
    assert leftovers(root) == []


# ---------------------------------------------------------------- editing


async def test_a_text_that_stands_once_is_replaced(root, bench):
    (root / "f").write_text("one\ntwo\nthree\n")
    assert await bench.edit_file("f", "two", "2") == FileEdited(path="f", replacements=1, lines=(2,))
    assert (root / "f").read_text() == "one\n2\nthree\n"


async def test_an_absent_text_is_not_found_and_an_ambiguous_one_a_conflict(root, bench):
    (root / "f").write_text("a\nb\na\n")
    absent = await refused(await bench.edit_file("f", "c", "d"))
    assert absent.code is Code.NOT_FOUND
    ambiguous = await refused(await bench.edit_file("f", "a", "d"))
    assert ambiguous.code is Code.CONFLICT
    assert "2 times" in ambiguous.message
    assert "lines 1, 3" in ambiguous.message
    assert (root / "f").read_text() == "a\nb\na\n"


async def test_places_that_overlap_are_ambiguous(root, bench):
    (root / "f").write_text("aaa")
    assert (await refused(await bench.edit_file("f", "aa", "b"))).code is Code.CONFLICT


async def test_all_replaces_every_one(root, bench):
    (root / "f").write_text("a\nb\na\n")
    assert await bench.edit_file("f", "a", "", every=True) == FileEdited(path="f", replacements=2, lines=(1, 3))
    assert (root / "f").read_text() == "\nb\n\n"


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("a", "a")])
async def test_an_edit_of_nothing_is_refused(root, bench, old, new):
    (root / "f").write_text("a")
    assert (await refused(await bench.edit_file("f", old, new))).code is Code.INVALID_ARGUMENT


async def test_crlf_is_kept_as_matched(root, bench):
    (root / "f").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await bench.edit_file("f", "one\ntwo", "1\n2\n2b")
    assert (root / "f").read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"
    await bench.edit_file("f", "\nthree", "\n3")
    assert (root / "f").read_bytes() == b"1\r\n2\r\n2b\r\n3\r\n"
    await bench.edit_file("f", "1\r\n", "")
    assert (root / "f").read_bytes() == b"2\r\n2b\r\n3\r\n"


async def test_mixed_line_ends_are_matched_exactly_and_the_cause_is_named(root, bench):
    (root / "f").write_bytes(b"one\r\ntwo\nthree\n")
    answer = await refused(await bench.edit_file("f", "one\ntwo", "x"))
    assert "CRLF" in answer.message
    await bench.edit_file("f", "one\r\ntwo", "x")
    assert (root / "f").read_bytes() == b"x\nthree\n"


async def test_bytes_around_an_edit_stay_as_they_are_H49(root, bench):
    (root / "f").write_bytes(b"\xff\xfe a \xf0")
    await bench.edit_file("f", "a", "b")
    assert (root / "f").read_bytes() == b"\xff\xfe b \xf0"
    assert "not UTF-8" in (await refused(await bench.edit_file("f", "\ufffd b", "c"))).message


async def test_other_white_space_is_named_as_the_cause(root, bench):
    (root / "f").write_text("\tif x:\n")
    assert "white space" in (await refused(await bench.edit_file("f", "    if x:", "if y:"))).message


async def test_a_file_that_changes_under_an_edit_is_not_overwritten(root, bench, monkeypatch):
    (root / "f").write_text("a b")
    real = os.fchmod

    def meanwhile(descriptor: int, mode: int) -> None:
        (root / "f").write_text("somebody else's a")
        real(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", meanwhile)
    assert (await refused(await bench.edit_file("f", "b", "c"))).code is Code.CONFLICT
    assert (root / "f").read_text() == "somebody else's a"
    assert leftovers(root) == []


BYTES = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r\n", b"\xff", "ü".encode()]), max_size=12).map(b"".join)
TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "ü"]), max_size=3).map("".join)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=BYTES, old=TEXTS, new=TEXTS, every=st.booleans())
def test_an_edit_replaces_exactly_what_stands_there(root, data, old, new, every):
    file = root / "f"
    file.write_bytes(data)
    crlf = b"\n" in data and data.count(b"\n") == data.count(b"\r\n")

    def meant(text: str) -> bytes:
        return text.replace("\r\n", "\n").replace("\n", "\r\n").encode() if crlf else text.encode()

    sought, put = meant(old), meant(new)
    places = [at for at in range(len(data)) if sought and data.startswith(sought, at)]
    try:
        done = writing.edit_file(Ground(str(root)), str(root.parent / "scratch"), "f", old, new, every=every)
    except Declined as declined:
        assert file.read_bytes() == data
        expected = (
            Code.INVALID_ARGUMENT if not sought or sought == put else Code.NOT_FOUND if not places else Code.CONFLICT
        )
        assert declined.refused.code is expected
        assert expected is not Code.CONFLICT or (len(places) > 1 and not every)
        return
    assert places
    assert every or len(places) == 1
    assert file.read_bytes() == data.replace(sought, put)
    assert done.lines[0] == data[: places[0]].count(b"\n") + 1


# ---------------------------------------------------------------- listing


async def test_a_listing_names_kinds_and_hides_nothing(root, bench):
    (root / "b.txt").touch()
    (root / ".hidden").touch()
    (root / "a").mkdir()
    (root / "l").symlink_to("a")
    os.mkfifo(root / "p")
    Path(os.fsdecode(os.fsencode(str(root)) + b"/\xff")).touch()
    listed = await bench.list_dir()
    assert listed == DirListed(
        path=".",
        entries=tuple(
            DirEntry(name=name, kind=kind)
            for name, kind in [
                (".hidden", "file"),
                ("a", "directory"),
                ("b.txt", "file"),
                ("l", "link"),
                ("p", "other"),
                ("\udcff", "file"),
            ]
        ),
    )
    assert (await bench.list_dir("l")).path == "a"
    assert (await refused(await bench.list_dir("b.txt"))).code is Code.INVALID_ARGUMENT


async def test_a_listing_is_bounded_and_counts_the_rest(root, bench, monkeypatch):
    monkeypatch.setattr(reading, "MOST_ENTRIES", 3)
    for number in range(5):
        (root / str(number)).touch()
    listed = await bench.list_dir()
    assert [entry.name for entry in listed.entries] == ["0", "1", "2"]
    assert listed.omitted == 2
