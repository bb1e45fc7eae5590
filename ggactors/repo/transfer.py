"""Carries objects from one store to another. Law: what is carried is complete for the commits named, and nothing is read twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.repo.faults import MissingObject, Unsound, show
from ggactors.repo.history import new_commits
from ggactors.repo.objects import BLOB, COMMIT, DIRECTORY, GITLINK, TREE, Objects, Sha
from ggactors.repo.packwriter import PackWriter
from ggactors.repo.soundness import CUT_OFF, MISSING, check_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def objects_of(store: Objects, commits: Iterable[Sha]) -> Iterator[tuple[int, Sha]]:
    """Yield kind and id of every object these commits brought, each once; oldest commits should come last."""
    seen: set[Sha] = set()
    for sha in commits:
        yield COMMIT, sha
        commit = store.commit(sha)
        before = store.commit(commit.parents[0]).tree if commit.parents and store.has(commit.parents[0]) else None
        todo: list[tuple[Sha | None, Sha]] = [(before, commit.tree)]
        while todo:
            old, new = todo.pop()
            if old == new or new in seen:
                continue
            seen.add(new)
            yield TREE, new
            known = store.tree(old) if old is not None else {}
            for name, (mode, child) in store.tree(new).items():
                was = known.get(name)
                if was is not None and was[1] == child:
                    continue
                if mode == DIRECTORY:
                    todo.append((was[1] if was is not None and was[0] == DIRECTORY else None, child))
                elif mode != GITLINK and child not in seen:
                    seen.add(child)
                    yield BLOB, child


def unsound(store: Objects, tip: Sha, known: Iterable[Sha]) -> str | None:
    """Say why the commits up to ``tip`` that ``known`` do not reach cannot be taken up; None when they can (W4, W10).

    They can when each is whole down to what is known, whatever an agent's git takes for the edge of history, and no tree of
    theirs is one that git refuses.
    """
    if tip in (known := tuple(known)):
        return None
    try:
        commits = new_commits(store, tip, known)
        for sha in commits:
            _refuse_cut(store, sha)
        for kind, sha in objects_of(store, commits):
            if kind == TREE:
                check_tree(sha, store.raw(sha)[1])
            elif kind == BLOB and not store.has(sha):
                raise MissingObject(sha)  # noqa: TRY301 - said as one that a read misses
    except MissingObject as missing:
        return MISSING.format(show(missing.sha))
    except Unsound as found:
        return str(found)
    return None


def _refuse_cut(store: Objects, sha: Sha) -> None:
    if store.severed(sha):
        raise Unsound(CUT_OFF.format(show(sha[:12])))


def adopt(store: Objects, tip: Sha, known: Iterable[Sha]) -> None:
    """Own every object of the commits up to ``tip`` that ``known`` do not reach: no collection elsewhere takes them (W8)."""
    for _, sha in objects_of(store, new_commits(store, tip, known)):
        if not store.owns(sha):
            store.write(*store.raw(sha))


def carry(source: Objects, target: Objects, tip: Sha, known: Iterable[Sha], *, has: Callable[[Sha], bool]) -> int:
    """Write into ``target``, as one pack, what it lacks of the commits up to ``tip``; answer how many objects.

    Raises Unsound, with nothing written, for what would leave ``target`` incomplete or with trees that git refuses.
    """
    with PackWriter(target.folder, target.disk) as pack:
        for kind, sha in objects_of(source, new_commits(source, tip, known)):
            if kind == COMMIT:
                _refuse_cut(source, sha)
            if not has(sha):
                content = source.raw(sha)[1]
                if kind == TREE:
                    check_tree(sha, content)
                pack.add(kind, content)
        pack.finish()
        return len(pack)
