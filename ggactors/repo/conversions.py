"""Conversions that work brings in by its attributes. Law: what this package would store wrong is not stored at all (W4, H14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.repo.attributes import NAME, names_filter, start_macros
from ggactors.repo.faults import show
from ggactors.repo.ignore import read_regular
from ggactors.repo.objects import DIRECTORY, EXECUTABLE, FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ggactors.repo.objects import Objects, Sha
    from ggactors.repo.place import Place

WHY = "filters, LFS, `ident` and re-encoding do not work in this version, so what is stored would be wrong"


def new_conversion(place: Place, old: Sha | None, new: Sha) -> str | None:
    """Say which line of the attributes in a tree sets a conversion, where they are not those of ``old``; None when none does."""
    store = place.store
    files = dict(_attribute_files(store, new, b""))
    if not files or (old is not None and files == dict(_attribute_files(store, old, b""))):
        return None
    macros = start_macros()
    person = read_regular(place.settings.attributes) if place.settings.attributes is not None else None
    names_filter(person or b"", macros)
    for path, sha in sorted(files.items(), key=lambda item: (item[0] != NAME, item[0])):
        for number, line in enumerate(store.blob(sha).split(b"\n"), 1):
            found = names_filter(line, macros, top=path == NAME)
            if found is not None:
                return f"line {number} of {show(path)} sets {show(found)}: {WHY}"
    return None


def _attribute_files(store: Objects, tree: Sha, prefix: bytes) -> Iterator[tuple[bytes, Sha]]:
    if not store.names(tree, NAME):
        return
    for name, (mode, child) in store.tree(tree).items():
        if mode == DIRECTORY:
            yield from _attribute_files(store, child, prefix + name + b"/")
        elif name == NAME and mode in (FILE, EXECUTABLE):  # git follows no link here either
            yield prefix + name, child
