"""What the host of services and the appliance say to each other; a machine says it on the node door, as JSON.

    GET  /worker/services?seen=MARK        -> Wanted, or 204 while it is what was seen last (long poll)
    POST /worker/services                  Observed -> {}, whenever something changed
    POST /worker/services/{run}/output     raw bytes from ?offset=N -> {"next": M}, the offset wanted next
    PUT  /worker/services/{run}/data       what the service wrote into its /workflow, a tar -> {"version": N}

Both messages are the whole of what is, not a change: whoever lost one sends or asks again.  What is not wanted is to be
ended and removed, whatever it is; a run that is neither wanted nor observed is gone.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tinkbox.model.command_lines import not_ours
from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import DIGEST
from tinkbox.model.reasons import MAX_REASON, ReasonText
from tinkbox.model.services import (
    TOLD_RESTARTS,
    HealthCheck,
    Phase,
    PlannedService,
    Resources,
    Restart,
    Restarted,
    RestartPolicy,
    Service,
    Standing,
)
from tinkbox.model.text import last_lines
from tinkbox.wire.messages.json_fields import fields_of, flag, mapping, member, number, read_object, text, texts, write
from tinkbox.wire.messages.worker import given_document, given_from_document, secret_documents, secret_uses, tail_of

MAX_OBSERVED = 256
# Of a service, in characters: what it says, and its last lines together.
MAX_STANDING_MESSAGE = 1_000
MAX_STANDING_TAIL = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedService:
    """One run of a service that is to be there.

    `restarts` is how often it was started again so far, and `phase` what its host said last: one that ended is not started
    again, whatever has become of its container.  `hosts` are names with their IPv4 addresses that its container
    is to know, such as the workflow's own.  With `appliance_only` an image whose name has a registry's host is not to be pulled
    from that host, where the appliance has it not.  `given` are values of secrets as in an Offer.
    """

    run: str
    workflow_id: str
    service: PlannedService
    restarts: int = 0
    hosts: Mapping[str, str] = field(default_factory=dict)
    phase: Phase = Phase.PENDING
    appliance_only: bool = False
    given: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Every service that is to be there."""

    services: tuple[WantedService, ...] = ()

    @property
    def mark(self) -> str:
        """What tells this from anything else that may be wanted; counts that the host itself reports are no news."""
        known = [(each.run, each.workflow_id, dict(each.hosts)) for each in self.services]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Every run that a host has anything of; `boot_id` is its kernel's."""

    boot_id: str
    standings: tuple[Standing, ...] = ()


def encode(message: Wanted | Observed) -> str:
    """Either message as one line of JSON."""
    if isinstance(message, Wanted):
        return write({"services": [_wanted_document(each) for each in message.services]})
    return write({**fields_of(message), "standings": [_standing_document(each) for each in message.standings]})


def decode_wanted(content: str | bytes) -> Wanted:
    """Raises Invalid when it does not say what is wanted."""
    return Wanted(services=tuple(_wanted(each) for each in _list(read_object(content, "wanted"), "services")))


def decode_observed(content: str | bytes) -> Observed:
    """Raises Invalid when it does not say what a host has; what is longer than the limits is cut."""
    entry = read_object(content, "observed")
    listed = _list(entry, "standings")
    if len(listed) > MAX_OBSERVED:
        raise Invalid(f"observed: {len(listed)} services: at most {MAX_OBSERVED} fit on one host")
    return Observed(boot_id=text(entry, "boot_id"), standings=tuple(standing_from_document(each) for each in listed))


def standing_from_document(entry: Any) -> Standing:
    """The inverse of `dataclasses.asdict`; raises Invalid."""
    entry = _object(entry, "standing")
    return Standing(
        run=text(entry, "run"),
        phase=member(entry, "phase", Phase),
        restarts=number(entry, "restarts", 0),
        exit_code=None if entry.get("exit_code") is None else number(entry, "exit_code"),
        signal=not_ours(text(entry, "signal", "")[:MAX_REASON]),
        reason=ReasonText(not_ours(text(entry, "reason", "")[:MAX_REASON])),
        message=not_ours(text(entry, "message", "")[:MAX_STANDING_MESSAGE]),
        tail=last_lines(tail_of(entry), MAX_STANDING_TAIL),
        address=text(entry, "address", "")[:64],
        ports=_ports(entry),
        digest=_digest(entry),
        restarted=_restarts(entry),
    )


def service_document(service: PlannedService) -> dict[str, Any]:
    """A service as one flat object, as it travels."""
    spec = service.spec
    return {
        "index": service.index,
        "name": spec.name,
        "host": service.host,
        "address": spec.worker,
        "image": spec.image,
        "command": spec.command,
        "environment": spec.environment,
        "volumes": spec.volumes,
        "labels": spec.labels,
        "urls": spec.urls,
        "health": spec.health,
        "restart": spec.restart,
        "ports": spec.ports,
        "timeout": spec.timeout,
        **({"resources": spec.resources} if spec.resources != Resources() else {}),
        **({"secrets": secret_documents(spec.secrets)} if spec.secrets else {}),
    }


def service_from_document(entry: Any) -> PlannedService:
    """The inverse of `service_document`; raises Invalid."""
    entry = _object(entry, "service")
    health, restart = entry.get("health"), _object(entry.get("restart", {}), "restart")
    labels = entry.get("labels") or ()
    if not isinstance(labels, list | tuple) or not all(
        isinstance(each, list | tuple) and len(each) == 2 for each in labels
    ):
        raise Invalid("service: labels are pairs")
    return PlannedService(
        index=number(entry, "index"),
        host=text(entry, "host"),
        spec=Service(
            name=text(entry, "name"),
            worker=text(entry, "address"),
            image=text(entry, "image"),
            command=texts(entry, "command"),
            environment=mapping(entry, "environment"),
            volumes=texts(entry, "volumes"),
            labels=tuple((str(name), str(value)) for name, value in labels),
            urls=texts(entry, "urls"),
            health=None if health is None else _health(_object(health, "health")),
            restart=Restart(policy=member(restart, "policy", RestartPolicy), limit=number(restart, "limit")),
            ports=_ports(entry),
            timeout=number(entry, "timeout"),
            resources=_resources(_object(entry.get("resources", {}), "resources")),
            secrets=secret_uses(entry),
        ),
    )


def _wanted_document(wanted: WantedService) -> dict[str, Any]:
    """As in the first release where it says nothing that that did not know."""
    fields = {**fields_of(wanted), "given": given_document(wanted.given)}
    fields = {name: value for name, value in fields.items() if value or name not in {"appliance_only", "given"}}
    return {**fields, "service": service_document(wanted.service)}


def _standing_document(standing: Standing) -> dict[str, Any]:
    """As in the first release where its host had no digest to find out, and it was not started again."""
    return {name: value for name, value in fields_of(standing).items() if value or name not in {"digest", "restarted"}}


def _restarts(entry: Mapping[str, Any]) -> tuple[Restarted, ...]:
    listed = _list(entry, "restarted") if "restarted" in entry else []
    return tuple(_restarted(each) for each in listed[-TOLD_RESTARTS:])


def _restarted(entry: Any) -> Restarted:
    entry = _object(entry, "restart")
    return Restarted(
        number=number(entry, "number"),
        exit_code=None if entry.get("exit_code") is None else number(entry, "exit_code"),
        signal=not_ours(text(entry, "signal", "")[:MAX_REASON]),
        message=not_ours(text(entry, "message", "")[:MAX_STANDING_MESSAGE]),
    )


def _wanted(entry: Any) -> WantedService:
    entry = _object(entry, "wanted service")
    return WantedService(
        run=text(entry, "run"),
        workflow_id=text(entry, "workflow_id"),
        service=service_from_document(entry.get("service")),
        restarts=number(entry, "restarts", 0),
        hosts=mapping(entry, "hosts"),
        phase=member({"phase": Phase.PENDING, **entry}, "phase", Phase),
        appliance_only=flag(entry, "appliance_only"),
        given=given_from_document(entry),
    )


def _health(entry: Mapping[str, Any]) -> HealthCheck:
    return HealthCheck(
        test=texts(entry, "test"),
        interval=_decimal(entry, "interval"),
        timeout=_decimal(entry, "timeout"),
        start_period=_decimal(entry, "start_period"),
        retries=number(entry, "retries", 0),
    )


def _resources(entry: Mapping[str, Any]) -> Resources:
    return Resources(memory=number(entry, "memory", 0), cpus=_decimal(entry, "cpus"), pids=number(entry, "pids", 0))


def _decimal(entry: Mapping[str, Any], name: str) -> float:
    value = entry.get(name, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Invalid(f"{name} is a number")
    return float(value)


def _digest(entry: Mapping[str, Any]) -> str:
    digest = text(entry, "digest", "")
    if digest and not DIGEST.match(digest):
        raise Invalid("standing: digest is no sha256 digest")
    return digest


def _ports(entry: Mapping[str, Any]) -> tuple[int, ...]:
    ports = entry.get("ports") or ()
    if not isinstance(ports, list | tuple) or not all(type(port) is int and 0 < port < 65_536 for port in ports):
        raise Invalid("ports are numbers from 1 to 65535")
    return tuple(ports)


def _object(entry: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise Invalid(f"{what}: expected an object")
    return entry


def _list(entry: Mapping[str, Any], name: str) -> list[Any]:
    # Whoever says nothing must not be taken to say that there is nothing.
    value = entry.get(name)
    if not isinstance(value, list):
        raise Invalid(f"{name} is missing or is no list")
    return value
