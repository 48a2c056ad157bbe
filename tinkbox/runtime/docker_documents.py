"""What the Docker engine is told and tells, as JSON (Docker Engine API v1.41).  Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from ipaddress import IPv4Network
from typing import Any

from tinkbox.model.services import HealthCheck, Resources
from tinkbox.model.text import one_line
from tinkbox.runtime import ContainerSpec
from tinkbox.runtime.container_events import since_the_start
from tinkbox.runtime.hosting import Health, Look, Network

MAX_PROBE = 500
_MAX_NAME = 64
_NEVER = "0001-01-01T00:00:00Z"
_NANOSECONDS = 1_000_000_000
_LOG_FILES = 2
_ENDLESS = "1000P"  # there is no word for it, and no disk has so much
_PERIOD = 100_000  # microseconds, the kernel's own


def container_config(spec: ContainerSpec) -> dict[str, Any]:
    """The body of a request to create a container."""
    config: dict[str, Any] = {
        "Image": spec.image,
        "Env": [f"{name}={value}" for name, value in spec.environment.items()],
        "Labels": dict(spec.labels),
        "ExposedPorts": {f"{port}/tcp": {} for port in spec.ports},
        "HostConfig": {
            "Binds": list(spec.binds),
            "Mounts": [
                {"Type": "bind", "Source": source, "Target": target, "ReadOnly": target in spec.read_only}
                for target, source in spec.mounts.items()
            ],
            "VolumesFrom": [spec.volumes_from] if spec.volumes_from else [],
            "Privileged": spec.privileged,
            "SecurityOpt": [] if spec.elevates else ["no-new-privileges"],
            "PidMode": spec.pid,
            "NetworkMode": spec.network,
            "ExtraHosts": [f"{name}:{address}" for name, address in spec.hosts.items()],
            "LogConfig": _log_config(spec.log_bytes),
            **_resources(spec.resources),
        },
    }
    if spec.capabilities is not None:
        config["HostConfig"] |= {"CapDrop": ["ALL"], "CapAdd": list(spec.capabilities)}
    if spec.entrypoint:
        config["Entrypoint"] = list(spec.entrypoint)
    if spec.command:
        config["Cmd"] = list(spec.command)
    if spec.health is not None:
        config["Healthcheck"] = _health_config(spec.health)
    return config


def foreign(image: Mapping[str, Any], engine: Mapping[str, Any]) -> str:
    """That an inspected image is for another processor than the engine's, in words; empty where it is not, or that is not known."""
    made_for, here = str(image.get("Architecture") or ""), str(engine.get("Arch") or "")
    if not made_for or not here or made_for == here:
        return ""
    variant = f"/{image['Variant']}" if image.get("Variant") else ""
    return f"the image is for {one_line(f'{made_for}{variant}', _MAX_NAME)}, and this machine is {one_line(here, _MAX_NAME)}"


def seen(shown: Mapping[str, Any]) -> Look:
    """What an inspected container says of itself."""
    state, exposed = shown["State"], {"ExposedPorts": None, **shown["Config"]}["ExposedPorts"] or {}
    started, ended = (time if time != _NEVER else "" for time in (state["StartedAt"], state["FinishedAt"]))
    health = state.get("Health") or {}
    known = health.get("Status") in set(Health)
    addresses = [each["IPAddress"] for each in shown["NetworkSettings"]["Networks"].values()]
    return Look(
        running=bool(state["Running"]),
        started_at=started,
        ended_at=ended,
        seconds=_seconds(started, ended),
        exit_code=int(state["ExitCode"]),
        out_of_memory=bool(state["OOMKilled"]),
        health=Health(health["Status"]) if known else None,
        probe=_failure(health["Log"][-1]) if known and health.get("Log") else "",
        address=next(filter(None, addresses), "") if state["Running"] else "",
        ports=tuple(sorted(int(port.removesuffix("/tcp")) for port in exposed if port.endswith("/tcp"))),
    )


def ended_alone(actions: Sequence[str]) -> bool:
    """Whether a container that is over ended by itself, by what its engine remembers of its life, oldest first."""
    newest = since_the_start(actions)
    return "die" in newest and "kill" not in newest


def network(listed: Mapping[str, Any]) -> Network:
    """One of the networks that the engine lists."""
    configs = (listed.get("IPAM") or {}).get("Config") or ()
    subnets = (each.get("Subnet", "") for each in configs)
    return Network(
        id=str(listed["Id"]),
        subnets=tuple(IPv4Network(subnet, strict=False) for subnet in subnets if subnet and ":" not in subnet),
        labels=listed.get("Labels") or {},
    )


def _resources(resources: Resources) -> dict[str, Any]:
    """What is not limited is left out."""
    limits: dict[str, Any] = {}
    if resources.memory:
        limits |= {"Memory": resources.memory, "MemorySwap": resources.memory}  # so that none of it is on disk
    if resources.cpus:
        # Unlike NanoCpus, a quota may be of more processors than there are.
        limits |= {"CpuPeriod": _PERIOD, "CpuQuota": round(resources.cpus * _PERIOD)}
    if resources.pids:
        limits |= {"PidsLimit": resources.pids}
    return limits


def _log_config(size: int) -> dict[str, Any]:
    """How the engine keeps what is printed; without a size, all of it.

    What is not said an engine takes from its own `log-opts`, and a log that lost its beginning cannot be read on from byte N.
    """
    if not size:
        return {"Type": "json-file", "Config": {"max-size": _ENDLESS}}
    return {"Type": "json-file", "Config": {"max-size": str(size // _LOG_FILES), "max-file": str(_LOG_FILES)}}


def _health_config(health: HealthCheck) -> dict[str, Any]:
    return {
        "Test": list(health.test),
        "Interval": round(health.interval * _NANOSECONDS),
        "Timeout": round(health.timeout * _NANOSECONDS),
        "StartPeriod": round(health.start_period * _NANOSECONDS),
        "Retries": health.retries,
    }


def _failure(probe: Mapping[str, Any]) -> str:
    said = str(probe["Output"]).strip()[:MAX_PROBE]
    return (said or f"exit code {probe['ExitCode']}") if probe["ExitCode"] else ""


def _seconds(started: str, ended: str) -> float:
    if not started or not ended:
        return 0.0
    return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds())
