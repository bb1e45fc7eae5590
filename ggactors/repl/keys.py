"""What keys do at the prompt beside prompt_toolkit's own. Law: Enter never loses text, Ctrl-C never ends the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus, vi_insert_mode
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.bindings.named_commands import get_by_name

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyPressEvent


class Hands(Protocol):
    """What takes what the keys mean."""

    busy: bool

    def enter(self, text: str) -> None:
        """Take what was typed."""

    def press(self) -> None:
        """Take a Ctrl-C."""

    def leave(self) -> None:
        """Take a Ctrl-D on an empty line."""

    def remark(self, text: str) -> None:
        """Say what a key does not do."""


def bindings(hands: Hands) -> KeyBindings:
    """Bind the keys."""
    keys = KeyBindings()
    in_line = has_focus(DEFAULT_BUFFER)

    @Condition
    def is_empty() -> bool:
        return not get_app().current_buffer.text

    @keys.add("enter", filter=in_line)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.current_line_before_cursor.endswith("\\") and not buffer.document.current_line_after_cursor:
            buffer.delete_before_cursor(1)
            buffer.newline(copy_margin=False)
            return
        text = buffer.text
        if text.strip():
            buffer.append_to_history()
        buffer.reset()
        hands.enter(text)

    @keys.add("escape", "enter", filter=in_line)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-c", filter=in_line)
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None:
            buffer.cancel_completion()
        elif buffer.text and not hands.busy:
            buffer.reset()
        else:
            hands.press()

    # As in every other line with vi keys; prompt_toolkit leaves it free.
    keys.add("c-u", filter=in_line & vi_insert_mode)(get_by_name("unix-line-discard"))

    @keys.add("c-z", filter=in_line)
    def _(_: KeyPressEvent) -> None:
        hands.remark("Ctrl-Z would stop the agents too; /pause holds them, and another terminal is free.")

    @keys.add("c-d", filter=in_line & is_empty)
    def _(_: KeyPressEvent) -> None:
        hands.leave()

    return keys
