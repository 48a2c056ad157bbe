"""The section `retention`: how long what is over is kept."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.model.retention import Retention
from tinkbox.settings import readers
from tinkbox.settings.declaring import Reader, inline, keys_of, reader, setting

LEAST_AGE = timedelta(minutes=1)
WITH_WORKFLOW = "workflow"
LEAST_AUDIT = timedelta(days=1)
_PLAIN = Retention()


def age_or(word: str, least: timedelta) -> Reader[timedelta | None]:
    """An age with its unit, or a word that stands for none."""
    of_age = readers.age(least)

    @reader(f"{of_age.takes}, or `{word}`", shown=lambda default: word if default is None else of_age.shown(default))
    def read(value: Any, default: timedelta | None) -> timedelta | None:
        return None if value == word else of_age.read(value, default or least)

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How long what is over is kept."""

    of: Retention = inline(
        keys_of(
            Retention,
            workflows=setting(
                _PLAIN.workflows,
                readers.age(LEAST_AGE),
                "age at which a finished workflow is deleted, with its attempts, output, data, events and recordings",
            ),
            newest=setting(_PLAIN.newest, readers.count, "finished workflows that are kept whatever their age"),
            keep_free=setting(
                _PLAIN.keep_free,
                readers.memory(LAST_ROOM, "with less free machines hand in no output, data or images"),
                "room on the data folder's disk below which the oldest finished workflows are deleted before their time, ten "
                "a minute; the newest 20 stay",
            ),
            recordings=setting(
                _PLAIN.recordings,
                age_or(WITH_WORKFLOW, LEAST_AGE),
                f"age at which a recording of a shell is deleted, whether its workflow is there or not. `{WITH_WORKFLOW}`, the "
                "default: with its workflow",
            ),
            audit=setting(
                _PLAIN.audit,
                age_or("never", LEAST_AUDIT),
                "age at which lines of the audit are deleted, from the oldest on, once a line says so",
            ),
        )
    )
