"""The head of the audit, kept beside the database: DATA/audit.head, sealed with the key in DATA/audit.key, as each line is.

It shows that the last lines are all there, to those who can change the database but not read the key: who restores an older
database, or deletes rows with another program.  It has as well how many lines wait to be written: they are lost with the
process, and that is told by the next start.  The seal of a line shows that the appliance wrote it.  Root, and the user that tinkbox runs as, can read the key and seal a head of
their own; against these only what was sent elsewhere helps.
"""

import hmac
import json
import os
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

from tinkbox.model.audit import Head, WaitingLines, canonical
from tinkbox.private_files import kept_secret

HEAD: Final = "audit.head"
KEY: Final = "audit.key"
ANOTHER_KEY: Final = (
    "makes another one and records that in line N. `tinkbox audit verify` fails at that line from then on, and "
    "`tinkbox audit verify --after N` examines what follows"
)
KEY_REMEDY: Final = (
    "it is the key by which audit.head and the lines of the audit are sealed. Put it back from a backup. Without a backup delete it: the "
    f"next start {ANOTHER_KEY}"
)
# 128 bits, as many as RFC 2104 §5 wants at least: there are millions of lines.
_DIGITS_OF_LINE: Final = 32


class HeadFile:
    """The file in a data folder; it blocks.  The key is made with the first head, so that where one is the other is to be."""

    def __init__(self, data: Path) -> None:
        self._path = data / HEAD
        self._key_path = data / KEY
        self._key = b""
        self._writing = Lock()

    def has_key(self) -> bool:
        """Whether a head was written here before."""
        return self._key_path.exists()

    def write(self, head: Head) -> None:
        """Replace what it says; raises OSError, and Unavailable where there is no key and none can be made.

        It is whole at any time, and after a power cut an earlier one or this.
        """
        # Who is cancelled while a thread writes begins another one.
        with self._writing:
            self._write(head)

    def _write(self, head: Head) -> None:
        fresh = self._path.with_suffix(".new")
        told = {"number": head.number, "digest": head.digest, "sealed_from": head.sealed_from, "seal": self._seal(head)}
        text = json.dumps(told if head.unwritten is None else told | {"unwritten": head.unwritten.document()})
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text + "\n")
        fresh.replace(self._path)

    def lost_key(self, *, has_seals: bool) -> bool:
        """Whether the key is gone by which the head was sealed, or lines that have seals; the next seal makes another one."""
        return not self._key and not self._key_path.exists() and (has_seals or self._path.exists())

    def read(self) -> tuple[Head | None, str]:
        """What it says, None when there is no file, and what is wrong with it, empty: nothing; raises Unavailable as `write` does."""
        head, seal, wrong = self._parsed()
        if head is not None and not hmac.compare_digest(seal.encode(), self._seal(head).encode()):
            return None, f"{self._path} was not written by this appliance, or with another {KEY}: its seal is wrong"
        return head, wrong

    def read_unsealed(self) -> tuple[Head | None, str]:
        """The same without a look at the seal: another program may have written it.  It makes no key."""
        head, _, wrong = self._parsed()
        return head, wrong

    def _parsed(self) -> tuple[Head | None, str, str]:
        """What it says, its seal, and why it cannot be read."""
        try:
            told = json.loads(self._path.read_bytes())
            unwritten = WaitingLines.of(told["unwritten"]) if "unwritten" in told else None
            return (
                Head(int(told["number"]), str(told["digest"]), int(told.get("sealed_from", 0)), unwritten),
                str(told["seal"]),
                "",
            )
        except FileNotFoundError:
            return None, "", ""
        except (OSError, ValueError, KeyError, TypeError) as error:
            return None, "", f"{self._path} cannot be read: {error}"

    @property
    def path(self) -> Path:
        return self._path

    def seal_line(self, text: str) -> str:
        """What a line of this text is sealed with; raises Unavailable as `write` does."""
        return self._sealed(f"line.{text}")[:_DIGITS_OF_LINE]

    def _seal(self, head: Head) -> str:
        begin = f".{head.sealed_from}" if head.sealed_from else ""  # earlier releases sealed no line
        more = f".{canonical(head.unwritten.document())}" if head.unwritten is not None else ""
        return self._sealed(f"audit.{head.number}.{head.digest}{begin}{more}")

    def _sealed(self, text: str) -> str:
        if not self._key:
            self._key = kept_secret(self._key_path, remedy=KEY_REMEDY).encode()
        return hmac.new(self._key, text.encode(), sha256).hexdigest()
