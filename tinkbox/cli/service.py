"""`tinkbox service`: the services of workflows, and where they stand."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from tinkbox.cli.appliance import ask, ask_each
from tinkbox.cli.output import Column, Document, show
from tinkbox.model.duration import show_duration

SHOWN_LETTERS = 120
COLUMNS: Sequence[Column] = (
    ("Workflow", lambda service: f"{service['workflow']} ({service['workflow_id'][:8]})"),
    ("Service", lambda service: service["name"]),
    ("Host", lambda service: service["host"]),
    ("State", lambda service: service["state"]),
    ("Restarts", lambda service: service["restarts"]),
    ("Ready After", lambda service: _between(service["begun_at"], service["ready_at"])),
    ("Age", lambda service: _between(service["begun_at"], now().isoformat())),
    ("Reason", lambda service: trouble(service)),
)


def show_list(chosen: argparse.Namespace) -> None:
    if chosen.keys:
        listed = [
            service
            for services in ask_each(chosen, lambda operator, key: operator.services.all(key))
            for service in services
        ]
    else:
        listed = ask(chosen, lambda operator: operator.services.all())
    show(chosen, listed, COLUMNS)


def trouble(service: Document) -> str:
    """What there is to say of a service that is not as it should be: `ServiceFailed: ended with exit code 1`."""
    told = ": ".join(part for part in (service["reason"], service["message"]) if part)
    return told if len(told) <= SHOWN_LETTERS else told[: SHOWN_LETTERS - 1] + "…"


def now() -> datetime:
    """The time here: clocks that differ make an age wrong, and nothing else."""
    return datetime.now(UTC)


def _between(begin: str | None, end: str | None) -> str:
    if not begin or not end:
        return ""
    seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    return show_duration(max(0.0, seconds))
