"""The last of what a shell printed, for those who come later."""

from tinkbox.wire.terminal.control_sequences import without_questions

SIZE = 128 * 1024
_LINE = 4 * 1024


class Scrollback:
    """The newest bytes of an output, each with its place in the whole, counted from 0."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._kept = bytearray()
        self.end = 0

    def add(self, content: bytes) -> None:
        self.end += len(content)
        self._kept += content
        if len(self._kept) > 2 * self._size:
            del self._kept[: -self._size]

    def behind(self, place: int) -> bytes:
        """What was printed behind that place, to be shown again.

        Where its beginning is not kept any more it begins with a line, if there is one, not in the midst of a letter.
        """
        newest = bytes(self._kept[-self._size :])
        begin = self.end - len(newest)
        if place >= begin:
            return without_questions(newest[place - begin :])
        line = newest.find(b"\n", 0, _LINE) + 1
        return without_questions(newest[line:])
