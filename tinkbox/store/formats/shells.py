"""What a shell was asked to be."""

from tinkbox.model.shells import ShellWish
from tinkbox.store.formats.json_text import read, write


def wish_text(wish: ShellWish, *, masked: bool = False) -> str:
    """The column `wish` of a shell; `masked` notes that it is not what was typed, for that had a secret in it."""
    return write(
        {
            **({"masked": True} if masked else {}),
            "id": wish.id,
            "tty": wish.tty,
            "command": wish.command,
            "user": wish.user,
            "folder": wish.folder,
            "environment": dict(wish.environment),
            "term": wish.term,
            "rows": wish.rows,
            "columns": wish.columns,
        }
    )


def is_masked(text: str) -> bool:
    """What `wish_text` noted."""
    return bool(read(text).get("masked", False))


def wish_of(text: str) -> ShellWish:
    """Reads `wish_text`."""
    entry = read(text)
    return ShellWish(
        id=entry["id"],
        tty=entry["tty"],
        command=tuple(entry["command"]),
        user=entry["user"],
        folder=entry["folder"],
        environment=entry["environment"],
        term=entry["term"],
        rows=entry["rows"],
        columns=entry["columns"],
    )
