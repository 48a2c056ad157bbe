"""Actions as planned, how their attempts ended, and what a person changed for one."""

from tinkbox.model.breakpoint import Override
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.store.formats.json_text import read, write


def action_text(action: PlannedAction) -> str:
    """The column `definition` of an action."""
    return write(
        {
            "index": action.index,
            "task": action.task,
            "name": action.name,
            "worker": action.worker,
            "address": action.address,
            "image": action.image,
            "timeout": action.timeout,
            "command": action.command,
            "on_timeout": action.on_timeout,
            "on_failure": action.on_failure,
            "volumes": action.volumes,
            "environment": dict(action.environment),
            "pid": action.pid,
            "retries": action.retries,
            "reboot": action.reboot,
            "helper": action.helper,
            "wipes": action.wipes,
        }
    )


def action_of(text: str) -> PlannedAction:
    """Reads `action_text`; what schema 1 had no word for is `retries`, `reboot`, `helper` and `wipes`."""
    entry = read(text, spelled="environment")
    return PlannedAction(
        index=entry["index"],
        task=entry["task"],
        name=entry["name"],
        worker=entry["worker"],
        address=entry["address"],
        image=entry["image"],
        timeout=entry["timeout"],
        command=tuple(entry["command"]),
        on_timeout=tuple(entry["on_timeout"]),
        on_failure=tuple(entry["on_failure"]),
        volumes=tuple(entry["volumes"]),
        environment=entry["environment"],
        pid=entry["pid"],
        retries=entry.get("retries", 0),
        reboot=entry.get("reboot", False),
        helper=entry.get("helper", True),
        wipes=tuple(entry.get("wipes", ())),
    )


def outcome_text(outcome: Outcome) -> str:
    """The column `outcome` of an attempt, and of a hold."""
    return write(
        {
            "state": outcome.state,
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "reason": outcome.reason,
            "message": outcome.message,
            "hint": outcome.hint,
            "tail": outcome.tail,
        }
    )


def outcome_of(text: str | None) -> Outcome | None:
    """Reads `outcome_text`; what schema 1 had no word for is `signal` and `hint`.  None: it has not ended."""
    if not text:
        return None
    entry = read(text)
    return Outcome(
        state=State(entry["state"]),
        exit_code=entry["exit_code"],
        signal=entry.get("signal", ""),
        reason=entry["reason"],
        message=entry["message"],
        hint=entry.get("hint", ""),
        tail=tuple(entry["tail"]),
    )


def override_text(override: Override | None) -> str:
    """The column `override` of an action, and of an attempt; empty: nothing was changed."""
    if override is None or override == Override():
        return ""
    return write({"command": override.command, "environment": dict(override.environment)})


def override_of(text: str) -> Override | None:
    """Reads `override_text`."""
    if not text:
        return None
    entry = read(text)
    command = entry["command"]
    return Override(command=None if command is None else tuple(command), environment=entry["environment"])
