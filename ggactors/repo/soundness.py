"""What may enter a history at all. Law: what git itself or its servers refuse later is refused before it is taken up (W4, W10)."""

from __future__ import annotations

from ggactors.repo.checkout import unsafe_name
from ggactors.repo.faults import Unsound, show
from ggactors.repo.objects import DIRECTORY, Sha

CUT_OFF = (
    "the history of {} is cut off by a shallow fetch, so what it builds on would be missing; "
    "`git fetch --unshallow` from where it came, or leave it out and `git cherry-pick` what you need"
)
"""Said of a commit whose parents are not there; takes its short name."""
MISSING = (
    "object {} is missing from what the branch brings (a partial or broken fetch); "
    "fetch it whole (`git fetch --refetch`), or `git cherry-pick` what you need"
)
"""Said of an object that a new commit names and nobody has; takes its id."""


def check_tree(sha: Sha, content: bytes) -> None:
    """Refuse a tree that no index can give: a name that is no plain file name, or one that stands there twice. Raises Unsound."""
    names: set[bytes] = set()
    last, at = b"", 0
    while at < len(content):
        space, end = content.find(b" ", at), content.find(b"\x00", at)
        if space < 0 or end < space or end + 21 > len(content):
            raise _bad(sha, "an entry that is cut off")
        name = content[space + 1 : end]
        if unsafe_name(name):
            raise _bad(sha, f"an entry named {show(name)!r}")
        if name in names:
            raise _bad(sha, f"two entries named {show(name)!r}")
        names.add(name)
        key = name + b"/" if int(content[at:space], 8) == DIRECTORY else name
        if key < last:
            raise _bad(sha, f"its entries out of order at {show(name)!r}")
        last, at = key, end + 21


def _bad(sha: Sha, what: str) -> Unsound:
    return Unsound(
        f"a commit of this branch holds a tree ({show(sha[:12])}) with {what}, which git refuses to check out or to push; "
        "make the branch anew without that commit (`git reset --soft` to before it keeps the files)"
    )
