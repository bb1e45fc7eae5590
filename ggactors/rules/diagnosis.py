"""What a person reads when a ceiling stopped an agent whose model did not call its tools (E2). Law: no model reads it."""

from __future__ import annotations

from attrs import frozen

from ggactors.rules.stuck import quoted

SAID = 200
"""Characters of the last such reply that are quoted."""


@frozen(kw_only=True)
class Silence:
    """How many of an agent's replies called nothing, out of how many, and the text of the last of these.

    A reply counts by what it is, never by its wording: prose, reasoning alone and nothing at all are the same (H37).
    """

    silent: int = 0
    replies: int = 0
    last: str = ""

    def after(self, text: str, *, called: bool) -> Silence:
        """Count one more reply."""
        if called:
            return Silence(silent=self.silent, replies=self.replies + 1, last=self.last)
        return Silence(silent=self.silent + 1, replies=self.replies + 1, last=text)

    def sentence(self) -> str | None:
        """Say it in half a sentence, or None when every reply called something."""
        if not self.silent:
            return None
        of = f"{self.silent} of its {self.replies} replies called no tool"
        return (
            f"{of}; the last of them said {quoted(self.last, SAID)}"
            if self.last.strip()
            else f"{of}; the last was empty"
        )


def diagnosed(sentence: str, silence: Silence) -> str:
    """Add to a ceiling's sentence how often no call was made and what was said last."""
    why = silence.sentence()
    return sentence if why is None else f"{sentence}; {why}"
