"""A model behind the mask: what it is asked and what it says hold no key (O4).

Law: what a provider echoes of a key, in a text or in an error, goes no further than this; and no prompt carries one to it. The
calls of a reply pass as they are: they are the agent's work, and rewriting that would be worse than the leak. Whoever keeps or
shows a call masks its copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.models.resolve import traits_of
from ggactors.ports import ModelFault, spent_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.models.resolve import ModelSource
    from ggactors.ports import Model
    from ggactors.protocol.model import Message, ModelReply, ModelRequest, ModelTraits, Usage
    from ggactors.tools.mask import Mask


def masked(sources: Mapping[str, ModelSource], mask: Mask) -> dict[str, ModelSource]:
    """Put every source behind the mask, if there is anything to mask."""
    if not mask.active:
        return dict(sources)
    return {key: MaskedSource(source, mask) for key, source in sources.items()}


@frozen
class MaskedSource:
    """A source whose models are all behind the mask."""

    source: ModelSource
    mask: Mask

    @property
    def label(self) -> str:
        """Say what usage events call the model."""
        return self.source.label

    @property
    def traits(self) -> ModelTraits:
        """Give the model's traits."""
        return traits_of(self.source)

    def model_for(self, agent: str, profile: str) -> MaskedModel:
        """Make the model of one agent."""
        return MaskedModel(self.source.model_for(agent, profile), self.mask)


class MaskedModel:
    """One agent's model behind the mask. Obeys ``ports.Model``."""

    def __init__(self, model: Model, mask: Mask) -> None:
        """Serve from ``model``."""
        self.label = model.label
        self._model = model
        self._mask = mask
        self._seen: list[tuple[Message, Message]] = []
        """Messages of the last request, as they are and masked: a conversation grows at its end, and only that is masked anew."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer as the model does. Raises its ModelFault, without what caused it. Cancelled: as the model is."""
        try:
            return self._said(await self._model.reply(self._asked(request)))
        except ModelFault as fault:
            fault.args = (self._mask.text(str(fault)),)
            raise fault from None

    def take_spent(self) -> Usage | None:
        """Give what the model's last call spent although nothing came of it, where it knows (C3)."""
        return spent_by(self._model)

    def bound(self, request: ModelRequest) -> Usage | None:
        """Give the model's bound."""
        return self._model.bound(self._asked(request))

    def _said(self, reply: ModelReply) -> ModelReply:
        calls = tuple(
            call if call.fault is None else evolve(call, fault=self._mask.text(call.fault)) for call in reply.calls
        )
        return evolve(self._mask.value(evolve(reply, calls=())), calls=calls)

    def _asked(self, request: ModelRequest) -> ModelRequest:
        same = 0
        for (before, _), now in zip(self._seen, request.messages, strict=False):
            if before is not now:
                break
            same += 1
        new = [(message, self._mask.value(message)) for message in request.messages[same:]]
        self._seen = [*self._seen[:same], *new]
        return evolve(request, messages=tuple(clean for _, clean in self._seen))
