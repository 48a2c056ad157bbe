"""The disk while an image is put on it: what would make it boot is held back until all else is there."""

from dataclasses import dataclass, field

from disk import HEAD, Disk, Reader

# Where the second GPT of the disk's former content can be; firmware would boot by it.
FORMER_TAIL = 1 << 20


@dataclass(slots=True)
class Held:
    """Bytes of the disk from `place` on that are not written yet."""

    place: int
    content: bytearray = field(repr=False)

    @property
    def end(self) -> int:
        return self.place + len(self.content)


class Target:
    """`tail` is how many bytes at the end of the disk are held back as its head is; `former_tail` how many are zeroed."""

    def __init__(self, disk: Disk, tail: int, former_tail: int = FORMER_TAIL) -> None:
        self.disk = disk
        self._former_tail = min(former_tail, disk.capacity)
        self._head = Held(0, bytearray(min(HEAD, disk.capacity)))
        self._tail = Held(disk.capacity - tail, bytearray(tail))

    @property
    def head(self) -> bytes:
        return bytes(self._head.content)

    def begin(self) -> None:
        """From now on the disk does not boot."""
        self.disk.zero(0, len(self._head.content))
        self.disk.zero(self.disk.capacity - self._former_tail, self._former_tail)
        self.disk.sync()

    def put(self, place: int, data: bytes) -> None:
        view = memoryview(data)
        end = place + len(data)
        for held in (self._head, self._tail):
            start, stop = max(place, held.place), min(end, held.end)
            if start < stop:
                held.content[start - held.place : stop - held.place] = view[start - place : stop - place]
        start, stop = max(place, self._head.end), min(end, self._tail.place)
        if start < stop:
            self.disk.write_sparsely(view[start - place : stop - place], start)

    def zero(self, place: int, length: int) -> None:
        start, stop = max(place, self._head.end), min(place + length, self._tail.place)
        if start < stop:
            self.disk.zero(start, stop - start)

    def read(self, reader: Reader | Disk, place: int, length: int) -> bytes:
        """What the disk will hold there, as far as it is not written yet."""
        content = reader.read(place, length)
        for held in (self._head, self._tail):
            start, stop = max(place, held.place), min(place + len(content), held.end)
            if start < stop:
                part = bytes(held.content[start - held.place : stop - held.place])
                content = content[: start - place] + part + content[stop - place :]
        return content

    def finish(self, head: bytes, tail: bytes) -> None:
        """Make the disk boot.  Its first sector is the last to be written: firmware looks for no table without it."""
        self.disk.sync()
        if tail:
            self.disk.write(tail, self.disk.capacity - len(tail))
        self.disk.write(head[self.disk.sector :], self.disk.sector)
        self.disk.sync()
        self.disk.write(head[: self.disk.sector], 0)
        self.disk.sync()
