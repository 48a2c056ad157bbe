"""Rows that another program, or a disk, made into ones that tinkbox never writes."""

import sqlite3
from collections.abc import Iterator
from types import TracebackType
from typing import Final

_TABLES: Final = f"{__package__}."
_RUN_THEM: Final = frozenset({f"{_TABLES}{each}" for each in ("database", "threads")})
# What SQLite, or Python of it, says of a column that is read as JSON or as text and holds none.
_NO_TEXT: Final = ("malformed JSON", "JSON cannot hold BLOB values", "Could not decode to UTF-8 column")


def unreadable_row(error: BaseException) -> str:
    """What cannot be read, and why, where a row made this error; empty where it is another one.

    The error comes from a module of tables, out of what that made of values: no argument that is wrong gets there.
    """
    found = next(_modules_of_tables(error.__traceback__), "")
    if not found or not (isinstance(error, (ValueError, TypeError, KeyError, AttributeError)) or _is_of_text(error)):
        return ""
    return (
        f"a row of its {found.replace('_', ' ')} cannot be read, {type(error).__name__}: {' '.join(str(error).split())}"
    )


def _modules_of_tables(traceback: TracebackType | None) -> Iterator[str]:
    """Their names, from the outermost call to the innermost."""
    while traceback is not None:
        name = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if name.startswith(_TABLES) and name not in _RUN_THEM:
            yield name.removeprefix(_TABLES)
        traceback = traceback.tb_next


def _is_of_text(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and str(error).startswith(_NO_TEXT)
