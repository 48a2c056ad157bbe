"""What the Docker engine's words mean.  Pure.

The engine tells most of its refusals apart by their text only, and much of that text is about its own inside.
Each row was met on a real engine (tests/integration/runtime/test_engine_messages.py provokes them).
"""

import re
from dataclasses import dataclass

from tinkbox.model.reasons import (
    MAPS_USERS,
    NOT_EXECUTABLE,
    OF_THE_APPLIANCE,
    OTHER_NAME,
    OUTDATED,
    UNTRUSTED,
    WANTS_HTTPS,
    WEB_PAGE,
    Reason,
)
from tinkbox.runtime import ContainerFailed

MAX_WORDS = 900
REMOVED = "its container was removed while it ran"
_GONE = 404
_PULL, _CREATE, _START, _EXEC, _LOST, _ANY = (
    Reason.IMAGE_PULL_FAILED,
    Reason.CREATE_FAILED,
    Reason.START_FAILED,
    Reason.EXEC_FAILED,
    Reason.CONTAINER_LOST,
    Reason.ENGINE_FAILED,
)
_BEGINNINGS = {_START: Reason.BAD_COMMAND, _EXEC: _EXEC}  # what it is called when there is no such program
_NOISE = re.compile(r"^.*unable to start container process: (?:error during container init: )?", re.DOTALL)
_UNKNOWN = re.compile(r": unknown(?=:|$)")  # how containerd ends an error that it has no class for
_OVERLAP = re.compile(r"pool overlaps|overlapping IPv4|conflicts with network", re.IGNORECASE)
_PROGRAM = re.compile(r'exec: "(?P<program>[^"]*)": (?P<why>.*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Row:
    """Text that says `reason` when the engine was asked for one of `asked` (empty: whatever it was asked)."""

    asked: tuple[Reason, ...]
    reason: Reason
    words: re.Pattern[str]
    means: str


def _row(asked: tuple[Reason, ...], reason: Reason, words: str, means: str) -> _Row:
    return _Row(asked, reason, re.compile(words, re.IGNORECASE | re.DOTALL), means)


# An OSIE's engine is told so at boot; a worker by hand uses an engine that a person set up.
_INSECURE = (
    f"one that speaks plain HTTP, as the appliance's does, {WANTS_HTTPS} of the engine's /etc/docker/daemon.json"
)


def wants_https(told: str) -> bool:
    """Whether the engine asked a registry by HTTPS alone, as its settings have it: no patience mends that."""
    return WANTS_HTTPS in told


def over_tls(told: str) -> str:
    """What the engine told of a registry that is to be asked over TLS: no setting of the engine is amiss then."""
    return told.replace(f"; {_INSECURE}", "")


def of_registry(told: str, registry: str, *, ours: bool) -> str:
    """What the engine told of a registry whose certificate it does not trust, with that one's name; `ours`: it is the appliance's."""
    whose = f", {OF_THE_APPLIANCE}" if ours else ""
    return told.replace(UNTRUSTED, f"{UNTRUSTED}, that of {registry}{whose}", 1)


_ROWS = (
    _row((), Reason.NO_SPACE, r"no space left on device|disk quota exceeded", "there is no space left for it"),
    _row(
        (_PULL,), Reason.IMAGE_PULL_FAILED, r"response body: .*<(?:!doctype|html)",
        f"{WEB_PAGE}, such as that of a web proxy, or of what refuses before the registry: take the registry's host out of what the engine asks its "
        "proxy for (NO_PROXY, or `no-proxy` in its /etc/docker/daemon.json)",
    ),
    _row(
        (_PULL,), Reason.IMAGE_NOT_ALLOWED,
        r"unauthorized|access denied|\bdenied:|authentication required|no basic auth|HTTP 40[13] ",
        "the registry does not give this image away: it wants a login, or does not have it",
    ),
    _row(
        (_PULL,), Reason.IMAGE_CORRUPT,
        r"verification failed|failed to register layer|invalid tar header|unknown blob|blob unknown|checksum"
        r"|does not match digest|unexpected end of JSON",
        "the image arrived damaged",
    ),
    _row(
        (_PULL,), Reason.WRONG_PLATFORM, r"no matching manifest for|no match for platform",
        "the registry has this image, but not for this machine's processor",
    ),
    _row(
        (_PULL,), Reason.REGISTRY_UNREACHABLE, r'Get "https://.*connection refused',
        "the registry does not answer over HTTPS; " + _INSECURE,
    ),
    _row(
        (_PULL,), Reason.IMAGE_PULL_FAILED, r"server gave HTTP response to HTTPS client",
        "the registry does not speak HTTPS; " + _INSECURE,
    ),
    _row((_PULL,), Reason.IMAGE_PULL_FAILED, r"\bx509: certificate has expired or is not yet valid", f"the engine {OUTDATED}"),
    _row(
        (_PULL,), Reason.IMAGE_PULL_FAILED,
        r"\bx509: (?:certificate is (?:valid for|not valid for any names)|cannot validate certificate for|certificate relies on legacy)", OTHER_NAME,
    ),
    _row((_PULL,), Reason.IMAGE_PULL_FAILED, r"\bx509: ", f"the engine {UNTRUSTED}"),
    _row(
        (_PULL,), Reason.REGISTRY_UNREACHABLE,
        r"connect: |connection reset|timeout|timed out|deadline exceeded|\bEOF\b|no such host|no route to host"
        r"|network is unreachable|server misbehaving|HTTP status: 5\d\d",
        "the registry does not answer",
    ),
    _row(
        (_PULL,), Reason.IMAGE_NOT_FOUND, r"not found|manifest unknown|name unknown|does not exist|HTTP 404 ",
        "the registry does not have this image",
    ),
    _row((_CREATE, _ANY), Reason.IMAGE_NOT_FOUND, r"no such image", "the image is not there"),
    _row((_CREATE,), Reason.BAD_COMMAND, r"no command specified", "neither the template nor its image says what to run"),
    _row(
        (_START,), Reason.NOT_PRIVILEGED, r"unable to apply caps|unable to apply capabilities",
        "this host cannot give a container all privileges",
    ),
    _row(
        (_CREATE,), Reason.NOT_PRIVILEGED, r"privileged mode is incompatible with user namespaces",
        f"{MAPS_USERS}, and gives no container all privileges then: take userns-remap out of its /etc/docker/daemon.json, unless no action "
        "needs them",
    ),
    _row((_START,), Reason.CONTAINER_LOST, r"no such container", "its container was removed"),
    # Its container runtime has a container that the engine takes for one that never began.
    _row(
        (_START,), Reason.ENGINE_RESTARTED, r"id already in use|task \S+: already exists",
        "the Docker engine ended while it started the container, and does not know that it did",
    ),
    _row((_LOST,), Reason.CONTAINER_LOST, r"no such container", REMOVED),
    _row((_START,), Reason.OUT_OF_MEMORY, r"OOM-killed|cannot allocate memory", "memory ran out when it was to begin"),
    _row(
        (_CREATE, _START), Reason.MOUNT_FAILED,
        r"invalid volume specification|invalid mount config|invalid mode:|duplicate mount point"
        r"|for a local volume name|mount source path|error mounting|failed to mount|cannot be mounted"
        r"|not a shared mount|not a shared or slave mount|read-only file system",
        "a volume cannot be mounted",
    ),
)  # fmt: skip


def meaning(asked: Reason, status: int, text: str) -> ContainerFailed:
    """What the engine's refusal means, when `asked` is the reason that stands for what it was asked."""
    program = _PROGRAM.search(text)
    if program and asked in _BEGINNINGS:
        return ContainerFailed(_BEGINNINGS[asked], _said(program["program"], program["why"]))
    for row in _ROWS:
        if (not row.asked or asked in row.asked) and row.words.search(text):
            return ContainerFailed(row.reason, f"{row.means}: {_tidy(text)}")
    if asked == _PULL and status == _GONE:
        return ContainerFailed(Reason.IMAGE_NOT_FOUND, f"the registry does not have this image: {_tidy(text)}")
    return ContainerFailed(asked, _tidy(text))


def bad_command(program: str, why: str) -> ContainerFailed:
    """What it means that a container's program cannot be executed, `why` as runc says it."""
    return ContainerFailed(Reason.BAD_COMMAND, _said(program, why))


def overlaps(text: str) -> bool:
    """Whether the engine refuses a network because another has its addresses."""
    return bool(_OVERLAP.search(text))


def _said(program: str, why: str) -> str:
    if not program:
        return "the command is empty: its first word, which names the program, has no letters"
    if "permission denied" in why:
        return f"{program} may not be executed: it is a folder, or {NOT_EXECUTABLE}"
    if "$PATH" in why:
        return f"the image has no program {program} in the folders of its PATH"
    if "no such file" in why:
        return f"the image has no program {program}"
    return f"{program} cannot be executed: {_tidy(why)}"


def _tidy(text: str) -> str:
    """The engine's words without what is about its own inside, bounded."""
    return _UNKNOWN.sub("", _NOISE.sub("", text.strip()))[:MAX_WORDS]
