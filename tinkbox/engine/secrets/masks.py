"""What is masked in everything that a workflow's machines say: the values that its actions and services were given."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from tinkbox.engine.secrets.key import SecretKey
from tinkbox.model.errors import Unavailable
from tinkbox.model.journal import Entry
from tinkbox.model.masking import Masks, masked_outcome
from tinkbox.store.database import Tables

MOST_KEPT: Final = 64  # workflows whose masks are kept in memory
MOST_STREAMS: Final = 4_096
NO_MASKS: Final = Masks()
ALL: Final = Masks(all=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A piece of an output as it is to be kept; `before` is what came before the next one, which begins at `end`."""

    piece: bytes
    end: int
    before: bytes


class WorkflowMasks:
    """The masks of workflows, and where the outputs stand that they are used on.

    What is kept in memory may be lost at any time: masks are made again, and an output of which nobody knows how it went
    on is masked a little more than it had to be.
    """

    def __init__(self, key: SecretKey) -> None:
        self._key = key
        self._made: OrderedDict[tuple[int, ...], Masks] = OrderedDict()
        self._streams: OrderedDict[str, Masked] = OrderedDict()

    def of(self, tables: Tables, workflow_id: str) -> Masks:
        """Those of a workflow; where its secrets cannot be read, everything is masked."""
        numbers = tables.secrets.numbers_in(workflow_id)
        if not numbers:
            return NO_MASKS
        masks = self._made.get(numbers)
        if masks is None:
            try:
                values = [self._key.open(each.name, each.content) for each in tables.secrets.numbered(numbers)]
            except Unavailable:
                return ALL
            # Asked for in several threads, it is made twice at worst.
            masks = self._made[numbers] = Masks.of(values)
            while len(self._made) > MOST_KEPT:
                self._made.popitem(last=False)
        return masks

    def of_all(self, tables: Tables) -> Masks:
        """Those of every secret."""
        try:
            return Masks.of([self._key.open(each.name, each.content) for each in tables.secrets.everything()])
        except Unavailable:
            return ALL

    def output(self, masks: Masks, token: str, length: int, offset: int, chunk: bytes) -> Masked:
        """The rest of a chunk behind the `length` bytes of an output that are there, masked; at most `length` is its offset."""
        fresh = chunk[length - offset :]
        before = chunk[: length - offset]
        stood = self._streams.get(token)
        if len(before) < masks.reach and stood is not None and stood.end == length:
            before = stood.before
        known = length == 0 or len(before) >= min(masks.reach, length)
        piece = masks.piece(before, fresh, known=known)
        kept = (before + fresh)[-masks.reach :] if masks.reach else b""
        return Masked(piece=piece, end=length + len(fresh), before=kept)

    def stands(self, token: str, masked: Masked) -> None:
        """Note how far an output has come, once that is committed."""
        if masked.before:
            self._streams[token] = masked
            self._streams.move_to_end(token)
            while len(self._streams) > MOST_STREAMS:
                self._streams.popitem(last=False)


def masked_entry(masks: Masks, entry: Entry) -> Entry:
    """The same of what a worker's journal tells."""
    return entry if entry.outcome is None else replace(entry, outcome=masked_outcome(masks, entry.outcome))
