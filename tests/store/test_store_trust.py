"""A yes is to content."""

from __future__ import annotations

from datetime import UTC, datetime

from ggactors.store.trust import fingerprint, is_trusted, remember

NOW = datetime(2026, 11, 30, 14, 5, tzinfo=UTC)


def test_a_yes_is_remembered_for_exactly_that_content(tmp_path):
    mark = fingerprint(b"crew", {"model.py": b"code"})
    assert not is_trusted(tmp_path, mark)
    remember(tmp_path, mark, what="./crew.toml", now=NOW)
    assert is_trusted(tmp_path, fingerprint(b"crew", {"model.py": b"code"}))
    for other in (
        fingerprint(b"crew ", {"model.py": b"code"}),
        fingerprint(b"crew", {"model.py": b"code2"}),
        fingerprint(b"crew", {"other.py": b"code"}),
        fingerprint(b"crew", {}),
        fingerprint(b"crew", {"model.py": b"code", "more.py": b""}),
        fingerprint(b"crewmodel.py", {"": b"code"}),
    ):
        assert not is_trusted(tmp_path, other)


def test_the_order_of_files_does_not_matter():
    assert fingerprint(b"", {"a": b"1", "b": b"2"}) == fingerprint(b"", {"b": b"2", "a": b"1"})
