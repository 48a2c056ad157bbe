"""`/v1/doctor`: what the boot doctor says.

Of the appliance and every machine in trouble that was seen today, or with `?machine=KEY` of one machine: a MAC, known or
not, or a key of known hardware.
"""

from collections.abc import Sequence
from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.json_values import Time
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import takes
from tinkbox.engine.doctor.examiner import Examiner
from tinkbox.model.access import Right
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.wire.dhcp.other_server_config import ForeignLines


class DiagnosisDocument(TypedDict):
    rule: str
    gravity: Gravity
    machine: str
    cause: str
    evidence: list[str]
    remedy: str


class ServerDocument(TypedDict):
    server: str
    where: str
    lines: list[str]


class ExaminationDocument(TypedDict):
    at: Time
    mode: str
    machine: str
    machines: int
    unasked: str
    diagnoses: list[DiagnosisDocument]
    servers: list[ServerDocument]


def routes(examiner: Examiner, foreign: Sequence[ForeignLines]) -> list[web.RouteDef]:
    """`foreign` are the lines for other DHCP servers, empty where the addresses come from here."""

    @takes(Parameter("machine", may_be_empty=True))  # of the appliance, as the command says it
    async def doctor(request: web.Request) -> Json[ExaminationDocument]:
        """What the boot doctor says of the appliance and of machines in trouble, or of one `machine`."""
        key = request.query.get("machine", "")
        found = await examiner.examine(key, caller(request).name)
        return answered(
            {
                "at": found.at.isoformat(),
                "mode": found.mode,
                "machine": key,
                "machines": found.machines,
                "unasked": found.unasked,
                "diagnoses": [diagnosis(each) for each in found.diagnoses],
                "servers": [] if key else [server(each) for each in foreign],
            }
        )

    return needing(Right.LOOK, web.get("/v1/doctor", doctor))


def diagnosis(found: Diagnosis) -> DiagnosisDocument:
    """`machine` is a MAC, or empty for the whole appliance."""
    return {
        "rule": found.rule,
        "gravity": found.gravity,
        "machine": found.machine,
        "cause": found.cause,
        "evidence": list(found.evidence),
        "remedy": found.remedy,
    }


def server(foreign: ForeignLines) -> ServerDocument:
    return {"server": foreign.server, "where": foreign.where, "lines": list(foreign.lines)}
