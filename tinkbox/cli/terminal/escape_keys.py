"""What is typed in a shell, and what of it is for tinkbox: as with ssh, a tilde after Enter begins it."""

from collections.abc import Iterator
from enum import Enum

HELP = """\
Behind Enter, and not passed on:
  ~.   leave; the shell goes on, and tinkbox breakpoint shell comes back to it
  ~t   take the keyboard, from another person too
  ~?   this
  ~~   a tilde"""
_TILDE, _ENTER = b"~", (b"\r", b"\n")


class Wish(Enum):
    """What a person wants of tinkbox."""

    DETACH = b"."
    TAKE = b"t"
    HELP = b"?"


class Escapes:
    """Reads what is typed, in pieces of any size."""

    def __init__(self) -> None:
        self._behind_enter = True
        self._held = False

    def read(self, content: bytes) -> Iterator[bytes | Wish]:
        """What to pass on, and what is wanted in between; a tilde that may begin something waits for what follows."""
        passed = bytearray()
        for byte in (content[place : place + 1] for place in range(len(content))):
            if self._held:
                self._held = False
                wish = next((each for each in Wish if each.value == byte), None)
                if wish is not None:
                    yield from (bytes(passed),) if passed else ()
                    passed.clear()
                    self._behind_enter = True
                    yield wish
                    continue
                passed += byte if byte == _TILDE else _TILDE + byte
            elif byte == _TILDE and self._behind_enter:
                self._held = True
                continue
            else:
                passed += byte
            self._behind_enter = byte in _ENTER
        if passed:
            yield bytes(passed)
