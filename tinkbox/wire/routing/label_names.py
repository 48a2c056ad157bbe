"""Which labels of a service mean something here, and what to do instead of those that do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.spelling import meant

MAX_SHOWN: Final = 80
FAMILIES: Final = frozenset({"traefik", "tinkbox", "boots"})

ROUTER: Final = "traefik.http.routers.*"
SERVICE: Final = "traefik.http.services.*"
MIDDLEWARE: Final = "traefik.http.middlewares.*"
NAMED: Final = {ROUTER: "router", SERVICE: "service", MIDDLEWARE: "middleware"}

ENABLE: Final = "traefik.enable"
RULE: Final = f"{ROUTER}.rule"
PRIORITY: Final = f"{ROUTER}.priority"
LEADS_TO: Final = f"{ROUTER}.service"
MIDDLEWARES: Final = f"{ROUTER}.middlewares"
PORT: Final = f"{SERVICE}.loadbalancer.server.port"
STRIP: Final = f"{MIDDLEWARE}.stripprefix.prefixes"
ADD: Final = f"{MIDDLEWARE}.addprefix.prefix"
PUBLIC: Final = "tinkbox.public"
BOOT: Final = "tinkbox.boot.ipxe"
BOOTS: Final = "boots.auto.ipxe"
HONOURED: Final = (ENABLE, RULE, PRIORITY, LEADS_TO, MIDDLEWARES, PORT, STRIP, ADD, PUBLIC, BOOT, BOOTS)

PLAIN_HTTP: Final = "the node door speaks plain HTTP: leave it out"
OWN_CONTAINER: Final = "requests go to the service's own container: leave it out"
ONE_CONTAINER: Final = "one container answers: leave it out"
# Each also stands for what is below it.
REFUSED: Final[Mapping[str, str]] = {
    f"{ROUTER}.entrypoints": "every route is at the node door: leave it out",
    f"{ROUTER}.tls": PLAIN_HTTP,
    f"{ROUTER}.rulesyntax": "rules are read as Traefik v3 reads them: leave it out",
    f"{ROUTER}.observability": "what is recorded of requests is no matter of their route: leave it out",
    f"{SERVICE}.loadbalancer.server.scheme": "containers are asked over plain HTTP: leave it out",
    f"{SERVICE}.loadbalancer.server.url": OWN_CONTAINER,
    f"{SERVICE}.loadbalancer.server.weight": ONE_CONTAINER,
    f"{SERVICE}.loadbalancer.sticky": ONE_CONTAINER,
    f"{SERVICE}.loadbalancer.strategy": ONE_CONTAINER,
    f"{SERVICE}.loadbalancer.healthcheck": "write the service's own healthcheck",
    f"{SERVICE}.loadbalancer.passivehealthcheck": "write the service's own healthcheck",
    "traefik.tcp": "only HTTP is routed",
    "traefik.udp": "only HTTP is routed",
    "traefik.tls": PLAIN_HTTP,
    "traefik.docker": "services have a network of their workflow's: leave it out",
    "traefik.swarm": "services have a network of their workflow's: leave it out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelName:
    """A label that is honoured: one of HONOURED, and the router, service or middleware that its `*` stands for.

    Those names are in lower case, as Traefik does not tell cases apart; `written` is as the template has it.
    """

    kind: str
    about: str
    written: str


def label_name(written: str) -> LabelName | None:
    """None for a label that is the container's own business; raises Invalid for what is not honoured."""
    parts = written.lower().split(".")
    if parts[0] not in FAMILIES:
        return None
    section, about = f"{parts[0]}.", ""
    named = ".".join([*parts[:3], "*"])
    if named in NAMED:
        if len(parts) < 5 or not parts[3] or "@" in parts[3]:
            shape = named.replace("*", "NAME.OPTION")
            raise Invalid(f"expected {shape}, with a name without @ for the {NAMED[named]}")
        section, about, parts[3] = f"{named}.", parts[3], "*"
    kind = ".".join(parts)
    if kind not in HONOURED:
        raise _refused(kind, section)
    return LabelName(kind=kind, about=about, written=written)


def _refused(kind: str, section: str) -> Invalid:
    """What to do instead of a label that is not honoured: the nearest of its section that is, unless there is a reason."""
    option = kind.removeprefix(section)[:MAX_SHOWN]
    reasons = [reason for refused, reason in REFUSED.items() if f"{kind}.".startswith((f"{refused}.", f"{refused}["))]
    known = [each.removeprefix(section) for each in HONOURED if each.startswith(section)]
    return Invalid(f"{option} is not honoured: {reasons[0] if reasons else meant(option, known)}")
