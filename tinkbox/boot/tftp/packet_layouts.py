"""Files in memory that many machines fetch at once by TFTP: each is cut into packets once for all of them."""

from collections.abc import Sequence
from typing import Final
from weakref import WeakValueDictionary

from tinkbox.wire.tftp import DEFAULT_BLOCK, Blocks, Content

# A layout is a copy of its file: so many block sizes are in use at once, and no more copies are made.
MAX_LAYOUTS: Final = 8


class Layouts:
    """Hands out the packets of a file; those who fetch it at once in blocks of one size share them."""

    def __init__(self) -> None:
        self._shared: WeakValueDictionary[tuple[int, int], Blocks] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._shared)

    def cut(self, content: Content, block_size: int) -> Blocks:
        """The content's blocks of this size; only of `bytes` they are kept, for as long as somebody holds them."""
        shared = self._shared.get((id(content), block_size))
        if shared is not None:
            return shared
        if not isinstance(content, bytes) or block_size < DEFAULT_BLOCK or len(self) == MAX_LAYOUTS:
            return Blocks(content, block_size)
        layout = self._shared[id(content), block_size] = _Layout(content, block_size)
        return layout


class _Layout(Blocks):
    """All packets, made when the first is wanted: who only asks for a size costs none."""

    def __init__(self, content: bytes, block_size: int) -> None:
        super().__init__(content, block_size)
        self._blocks = len(content) // block_size + 1
        self._made: Sequence[bytes] = ()

    def packets(self, after: int, last: int) -> Sequence[bytes]:
        if not self._made:
            self._made = super().packets(0, self._blocks)
        return self._made[after:last]
