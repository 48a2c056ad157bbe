"""Everything that the operator door tells of what is stored; it knows no module of tinkbox, so an earlier one can be asked too."""

from collections.abc import Awaitable, Callable
from typing import Any

LISTS = ("hardware", "templates", "workflows", "breakpoints", "services", "discovered", "seen", "doctor", "status")
OF_A_WORKFLOW = ("", "/state", "/events", "/logs", "/data", "/data/versions", "/breakpoints", "/shells")


async def answers(ask: Callable[[str], Awaitable[Any]]) -> dict[str, Any]:
    """What `ask` answers for each path; it is given the path and returns status and text, or the decoded body."""
    told = {path: await ask(path) for path in map("/v1/{}".format, LISTS)}
    for machine in told["/v1/hardware"]:
        for path in ("", "/credential", "/timeline?lines=100"):
            told |= {(asked := f"/v1/hardware/{machine['id']}{path}"): await ask(asked)}
    for flow in told["/v1/workflows"]:
        for path in OF_A_WORKFLOW:
            told |= {(asked := f"/v1/workflows/{flow['id']}{path}"): await ask(asked)}
    for stored in told["/v1/templates"]:
        told |= {(asked := f"/v1/templates/{stored['id']}"): await ask(asked)}
    for service in told["/v1/services"]:
        told |= {(asked := f"/v1/services/logs?service={service['name'].replace(' ', '%20')}"): await ask(asked)}
    told["/v1/status"].pop("version")
    return told
