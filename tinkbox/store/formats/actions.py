"""Actions as planned, how their attempts ended, and what a person changed for one."""

from tinkbox.model.actions.action import Action, Until
from tinkbox.model.breakpoint import Override
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.store.formats.json_text import read, write
from tinkbox.store.formats.secrets import secret_entries, secrets_of


def action_text(action: PlannedAction) -> str:
    """The column `definition` of an action."""
    spec = action.spec
    return write(
        {
            "index": action.index,
            "task": action.task,
            "name": spec.name,
            "worker": action.worker,
            "address": action.address,
            "image": spec.image,
            "timeout": spec.timeout,
            "command": spec.command,
            "on_timeout": spec.on_timeout,
            "on_failure": spec.on_failure,
            "volumes": spec.volumes,
            "environment": dict(spec.environment),
            "pid": spec.pid,
            "retries": spec.retries,
            "reboot": spec.reboot,
            "helper": spec.helper,
            "wipes": spec.wipes,
            # Columns of before there was one stay as they are.
            **({"network": spec.network} if spec.network else {}),
            **({"disk": spec.disk} if spec.disk else {}),
            **({"until": spec.until} if spec.until else {}),
            **({"secrets": secret_entries(spec.secrets)} if spec.secrets else {}),
        }
    )


def action_of(text: str) -> PlannedAction:
    """Reads `action_text`; what schema 1 had no word for is `retries`, `reboot`, `until`, `helper`, `wipes`, `disk`, `network` and `secrets`."""
    entry = read(text, spelled="environment")
    return PlannedAction(
        index=entry["index"],
        task=entry["task"],
        worker=entry["worker"],
        address=entry["address"],
        spec=Action(
            name=entry["name"],
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
            disk=entry.get("disk", ""),
            network=entry.get("network", ""),
            until=Until(entry.get("until", "")),
            secrets=secrets_of(entry),
        ),
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
