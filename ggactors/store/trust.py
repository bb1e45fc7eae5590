"""Which found crews the operator has said yes to (O5).

Law: a yes is to content, never to a place: the crew document and every file it executes, byte for byte. A changed byte
asks again.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from ggactors.store.folder import private_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path


def fingerprint(document: bytes, files: Mapping[str, bytes]) -> str:
    """Give the hash a yes is remembered under: of the crew ``document`` and the ``files`` it executes, by name."""
    digest = hashlib.sha256()
    for name, content in (("", document), *sorted(files.items())):
        # Each part is hashed by itself, so that no two ways of cutting the bytes give one hash.
        digest.update(hashlib.sha256(name.encode(errors="surrogateescape")).digest())
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def is_trusted(home: Path, mark: str) -> bool:
    """Tell whether the operator has said yes to what has the fingerprint ``mark``."""
    return (home / "trust" / f"{mark}.json").is_file()


def remember(home: Path, mark: str, *, what: str, now: datetime) -> None:
    """Remember a yes to the fingerprint ``mark``; ``what`` names it for a reader of the folder. Raises OSError."""
    folder = private_folder(home / "trust")
    (folder / f"{mark}.json").write_text(json.dumps({"what": what, "time": now.isoformat()}) + "\n")
