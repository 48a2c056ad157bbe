"""What is masked in all that a workflow's machines say: the secrets that they were given, and the tokens of their metadata.

By such a token anybody reads user-data.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from tinkbox.engine.secrets.key import SecretKey
from tinkbox.engine.secrets.typed_wishes import TypedWishes
from tinkbox.model.errors import Unavailable
from tinkbox.model.journal import Entry
from tinkbox.model.masking import Masks, masked_outcome
from tinkbox.store.database import Tables

MOST_KEPT: Final = 64  # workflows whose masks are kept in memory
MOST_TOKENS: Final = 1_024  # the same where no secrets are
MOST_STREAMS: Final = 4_096
ALL: Final = Masks(all=True)
NOTHING: Final = Masks()
K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """A piece of an output as it is to be kept; `before` is what came before the next one, which begins at `end`."""

    piece: bytes
    end: int
    before: bytes


class WorkflowMasks:
    """The masks of workflows, where the outputs stand that they are used on, and what was `typed` for shells before it was masked.

    What is kept in memory may be lost at any time: masks are made again, and an output of which nobody knows how it went
    on is masked a little more than it had to be.
    """

    def __init__(self, key: SecretKey, metadata_token: Callable[[str, str], str]) -> None:
        """`metadata_token` gives the token of a workflow on a machine, by their ids."""
        self._key = key
        self._metadata_token = metadata_token
        self._made: OrderedDict[tuple[int, ...], Masks] = OrderedDict()
        self._of_tokens: OrderedDict[str, Masks] = OrderedDict()
        self._of_both: OrderedDict[tuple[tuple[str, ...], tuple[int, ...]], Masks] = OrderedDict()
        self._streams: OrderedDict[str, Masked] = OrderedDict()
        self.typed = TypedWishes()

    def of(self, tables: Tables, workflow_id: str) -> Masks:
        """Those of a workflow; where its secrets cannot be read, everything is masked."""
        return self._of_several(tables, (workflow_id,))

    def of_machine(self, tables: Tables, machine: str) -> Masks:
        """Those of the workflows of which a machine may tell secrets (`SecretTable.workflows_at`), and the same.

        With an empty id it is a machine that nobody knows, for which nothing was done.
        """
        return self._of_several(tables, tables.secrets.workflows_at(machine) if machine else ())

    def _of_several(self, tables: Tables, workflows: tuple[str, ...]) -> Masks:
        numbers = tuple(sorted({each for workflow in workflows for each in tables.secrets.numbers_in(workflow)}))
        of_tokens = [self._masks_of_tokens(tables, each) for each in workflows]
        if not numbers and len(of_tokens) < 2:
            return of_tokens[0] if of_tokens else NOTHING
        both = self._of_both.get((workflows, numbers))
        if both is None:
            of_secrets = self._masks_of_secrets(tables, numbers)
            if of_secrets.all:  # the key may come back
                return ALL
            both = _kept(self._of_both, (workflows, numbers), Masks.joined([of_secrets, *of_tokens]), MOST_KEPT)
        return both

    def _masks_of_tokens(self, tables: Tables, workflow_id: str) -> Masks:
        masks = self._of_tokens.get(workflow_id)
        if masks is None:
            machines = tables.workflows.machines_of(workflow_id)
            masks = Masks.of([self._metadata_token(workflow_id, each).encode() for each in machines])
            _kept(self._of_tokens, workflow_id, masks, MOST_TOKENS)
        return masks

    def _masks_of_secrets(self, tables: Tables, numbers: tuple[int, ...]) -> Masks:
        """Where they cannot be read, ALL."""
        masks = self._made.get(numbers)
        if masks is None:
            try:
                values = [self._key.open(each.name, each.content) for each in tables.secrets.numbered(numbers)]
            except Unavailable:
                return ALL
            # Asked for in several threads, it is made twice at worst.
            masks = _kept(self._made, numbers, Masks.of(values), MOST_KEPT)
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


def _kept(cache: OrderedDict[K, Masks], key: K, masks: Masks, most: int) -> Masks:
    cache[key] = masks
    while len(cache) > most:
        cache.popitem(last=False)
    return masks


def masked_entry(masks: Masks, entry: Entry) -> Entry:
    """The same of what a worker's journal tells."""
    return entry if entry.outcome is None else replace(entry, outcome=masked_outcome(masks, entry.outcome))
