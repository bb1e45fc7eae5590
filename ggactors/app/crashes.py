"""What broke down in a run, told: the traceback in a file of the run's folder, its name to the operator (D8).

Law: a traceback is shown to nobody but who opens the file, and no key is in it. The journal giving out is the world's doing, not
a defect.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from attrs import define

from ggactors.ports import JournalBroken
from ggactors.protocol.events import Log

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.events import Event
    from ggactors.store.folder import RunFolder
    from ggactors.tools.mask import Mask


@define(kw_only=True)
class Crashes:
    """The crashes of one run."""

    folder: RunFolder
    mask: Mask
    emit: Callable[[Event], None]
    _written: int = 0

    def told(self, name: str, error: BaseException) -> str:
        """Tell of an actor's crash, and give the reason it is for the run to stop."""
        if isinstance(error, JournalBroken):
            reason = f"the journal could not be written: {error}"
        else:
            where = self._write(error)
            reason = f"a defect of ggactors: {name} broke down ({type(error).__name__}); {where}"
        self.emit(Log(level="error", message=reason))
        return reason

    def _write(self, error: BaseException) -> str:
        self._written += 1
        path = self.folder.path / f"crash-{self._written}.txt"
        text = self.mask.text("".join(traceback.format_exception(error)))
        try:
            path.write_text(text, encoding="utf-8", errors="replace")
        except OSError as failed:
            return f"its traceback could not be written ({failed.strerror})"
        return f"its traceback is in {path}"
