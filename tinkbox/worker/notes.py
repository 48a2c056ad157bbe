"""What a worker notes of an attempt for its next life: what it starts, that it was to be stopped, how it ended.

Without them a container that somebody removed would be started again, a worker that was killed between
stopping one and reporting it would take the signal for the cause, and one that was killed before its
report was answered might tell it otherwise.
"""

import json
import logging
import shutil
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from tinkbox.model.errors import Invalid
from tinkbox.model.workflow import Outcome
from tinkbox.wire.worker import Order, decode_order, encode, outcome_from_document

_log = logging.getLogger(__name__)


class Notes:
    """One folder per attempt that is not over yet.  What cannot be written is done without."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def begin(self, attempt: str) -> None:
        """Note that this attempt is not over."""
        try:
            (self._root / attempt).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _log.warning("the attempt is not noted: %s", error, extra={"action": "notes.lost"})

    def unfinished(self) -> list[str]:
        """The attempts that were begun and not forgotten."""
        return [path.name for path in self._root.iterdir()] if self._root.is_dir() else []

    def forget(self, attempt: str) -> None:
        """The attempt is over."""
        shutil.rmtree(self._root / attempt, ignore_errors=True)

    def keep_start(self, attempt: str, role: str) -> None:
        """Note that its container of this role is about to start."""
        self._write(attempt, f"start-{role}", "{}")

    def start(self, attempt: str, role: str) -> bool:
        """Whether its container of this role was ever about to start."""
        return self._path(attempt, f"start-{role}").exists()

    def keep_stop(self, attempt: str, order: Order) -> None:
        """Note that its container is stopped, and why."""
        self._write(attempt, "stop", encode(order))

    def stop(self, attempt: str) -> Order | None:
        """Why its container was stopped; None when it was not."""
        with suppress(OSError, Invalid):
            return decode_order(self._path(attempt, "stop").read_bytes())
        return None

    def keep_outcome(self, attempt: str, outcome: Outcome) -> None:
        """Note how it ended, before anybody is told."""
        self._write(attempt, "outcome", json.dumps(asdict(outcome)))

    def outcome(self, attempt: str) -> Outcome | None:
        """How it ended; None when it did not yet."""
        with suppress(OSError, ValueError, Invalid):
            return outcome_from_document(json.loads(self._path(attempt, "outcome").read_bytes()))
        return None

    def _write(self, attempt: str, name: str, text: str) -> None:
        path = self._path(attempt, name)
        fresh = path.with_suffix(".new")
        try:
            fresh.write_text(text)
            fresh.replace(path)
        except OSError as error:
            _log.warning("the %s of the attempt is not noted: %s", name, error, extra={"action": "notes.lost"})

    def _path(self, attempt: str, name: str) -> Path:
        return self._root / attempt / f"{name}.json"
