"""What somebody else wrote into a working tree while its own agents rested (M6, R7). Law: it is saved before it is put back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ggactors.protocol.git import MainRestored
from ggactors.repo.commits import snapshot
from ggactors.repo.faults import show
from ggactors.repo.keep import forget_operations, readable_index, save_work, stand_at
from ggactors.repo.refs import HEADS
from ggactors.repo.retarget import Untracked, retarget
from ggactors.repo.trees import diff

if TYPE_CHECKING:
    from ggactors.repo.objects import Sha
    from ggactors.repo.place import Place

_NAMED = 8
"""How many paths are named."""


def lying(place: Place, tip: Sha) -> Sha | None:
    """Give the tree of everything unignored in a working tree, or None when that is just what its commit holds."""
    committed = place.store.commit(tip).tree
    tree = snapshot(place, readable_index(place.index_path), committed, into_nested=False)
    return None if tree == committed else tree


def put_back(place: Place, vault: Place, ref: bytes, tip: Sha, left: Sha | None, message: bytes) -> MainRestored | None:
    """Make a working tree hold ``left`` (None: the tip's own tree) on ``tip`` again; None when it does."""
    store = place.store
    wanted = left or store.commit(tip).tree
    head = place.refs.head()
    found = lying(place, tip) or store.commit(tip).tree
    on_its_tip = head.ref == ref and head.commit == tip
    if on_its_tip and found == wanted:
        return None
    what = [show(path) for path in sorted(diff(store, wanted, found))]
    more = f" and {len(what) - _NAMED} more" if len(what) > _NAMED else ""
    told = [] if not what else [f"{', '.join(what[:_NAMED])}{more}"]
    if not on_its_tip:
        where = f"the branch {show(head.ref.removeprefix(HEADS))}" if head.ref else "HEAD"
        told.append(f"{where} was moved to {head.commit[:12].decode() if head.commit else 'no commit'}")
    saved = save_work(place, vault, b"main", tip, ref, message, base=wanted)
    forget_operations(place)
    retarget(place, wanted, untracked=Untracked.UNIGNORED_GO)
    stand_at(place, ref, tip)
    return MainRestored(what="; ".join(told) + "; it is put back", saved_ref=None if saved is None else saved.decode())
