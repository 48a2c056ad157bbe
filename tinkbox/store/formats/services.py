"""Services as planned, where their runs stand, and which files these have written."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tinkbox.model.services import (
    HealthCheck,
    Phase,
    PlannedService,
    Resources,
    Restart,
    RestartPolicy,
    Service,
    Standing,
)
from tinkbox.store.formats.json_text import read, write
from tinkbox.store.formats.secrets import secret_entries, secrets_of


def service_text(service: PlannedService) -> str:
    """The column `definition` of a service."""
    spec = service.spec
    return write(
        {
            "index": service.index,
            "name": spec.name,
            "host": service.host,
            "address": spec.worker,
            "image": spec.image,
            "command": spec.command,
            "environment": dict(spec.environment),
            "volumes": spec.volumes,
            "labels": spec.labels,
            "urls": spec.urls,
            "health": None if spec.health is None else _health_entry(spec.health),
            "restart": {"policy": spec.restart.policy, "limit": spec.restart.limit},
            "ports": spec.ports,
            "timeout": spec.timeout,
            # As in an earlier release where nothing is asked for.
            **({"resources": asdict(spec.resources)} if spec.resources != Resources() else {}),
            **({"secrets": secret_entries(spec.secrets)} if spec.secrets else {}),
        }
    )


def service_of(text: str) -> PlannedService:
    """Reads `service_text`."""
    entry = read(text)
    health, restart = entry["health"], entry["restart"]
    return PlannedService(
        index=entry["index"],
        host=entry["host"],
        spec=Service(
            name=entry["name"],
            worker=entry["address"],
            image=entry["image"],
            command=tuple(entry["command"]),
            environment=entry["environment"],
            volumes=tuple(entry["volumes"]),
            labels=tuple((name, value) for name, value in entry["labels"]),
            urls=tuple(entry["urls"]),
            health=None if health is None else _health(health),
            restart=Restart(policy=RestartPolicy(restart["policy"]), limit=restart["limit"]),
            ports=tuple(entry["ports"]),
            timeout=entry["timeout"],
            resources=Resources(**entry.get("resources", {})),
            secrets=secrets_of(entry),
        ),
    )


def standing_text(standing: Standing) -> str:
    """The column `standing` of a run."""
    return write(
        {
            "run": standing.run,
            "phase": standing.phase,
            "restarts": standing.restarts,
            "exit_code": standing.exit_code,
            "signal": standing.signal,
            "reason": standing.reason,
            "message": standing.message,
            "tail": standing.tail,
            "address": standing.address,
            "ports": standing.ports,
            # As in an earlier release where its host had nothing to find out.
            **({"digest": standing.digest} if standing.digest else {}),
        }
    )


def standing_of(text: str) -> Standing:
    """Reads `standing_text`."""
    entry = read(text)
    return Standing(
        run=entry["run"],
        phase=Phase(entry["phase"]),
        restarts=entry["restarts"],
        exit_code=entry["exit_code"],
        signal=entry["signal"],
        reason=entry["reason"],
        message=entry["message"],
        tail=tuple(entry["tail"]),
        address=entry["address"],
        ports=tuple(entry["ports"]),
        digest=entry.get("digest", ""),
    )


def files_text(files: Mapping[str, str], removed: Mapping[str, datetime]) -> str:
    """The column `written` of a run: fingerprints by path, and since when a path is not there any more."""
    return write({"files": dict(files), "removed": {path: at.isoformat() for path, at in removed.items()}})


def files_of(text: str) -> tuple[Mapping[str, str], Mapping[str, datetime]]:
    """Reads `files_text`; a path is compared with others, so it stays as it is spelled, halves of characters too."""
    entry = json.loads(text)
    return entry["files"], {path: datetime.fromisoformat(at) for path, at in entry["removed"].items()}


def _health_entry(health: HealthCheck) -> dict[str, Any]:
    return {
        "test": health.test,
        "interval": health.interval,
        "timeout": health.timeout,
        "start_period": health.start_period,
        "retries": health.retries,
    }


def _health(entry: Mapping[str, Any]) -> HealthCheck:
    return HealthCheck(
        test=tuple(entry["test"]),
        interval=entry["interval"],
        timeout=entry["timeout"],
        start_period=entry["start_period"],
        retries=entry["retries"],
    )
