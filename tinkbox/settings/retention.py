"""The section `retention`: how long what is over is kept."""

from dataclasses import dataclass
from datetime import timedelta

from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.model.retention import Retention
from tinkbox.settings import readers
from tinkbox.settings.declaring import inline, keys_of, setting

LEAST_AGE = timedelta(minutes=1)
_PLAIN = Retention()


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
        )
    )
