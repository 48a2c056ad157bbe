"""The operator door: a module for each noun of its URLs, composed here.

Each declares its routes with the right that they need and the JSON that they answer; what they ask of the engine is one
call each, and refusals are mapped at the edge (`door.problems`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tinkbox.api.audited_names import Names, naming
from tinkbox.api.compared_documents import Documents, MachineDocuments, TemplateDocuments, WorkflowDocuments, comparing
from tinkbox.api.following import Followers
from tinkbox.api.metrics import Answers
from tinkbox.api.routes.appliance import authority, doctor, metrics, openapi, status
from tinkbox.api.routes.appliance.authority import Own as OwnCertificate
from tinkbox.api.routes.documents import apply, kept_documents, labels, names
from tinkbox.api.routes.images import images, osie
from tinkbox.api.routes.machines import (
    at_work,
    discovered,
    hardware,
    hardware_changes,
    leases,
    lost_histories,
    metadata,
    seen,
)
from tinkbox.api.routes.people import audit, login, tokens
from tinkbox.api.routes.workflows import (
    breakpoints,
    events,
    rollouts,
    secrets,
    services,
    shells,
    templates,
    workflow_data,
    workflow_plans,
    workflows,
)
from tinkbox.api.routes.workflows.workflows import ProgressOf, no_progress
from tinkbox.api.scopes import Scopes
from tinkbox.engine.applying.applying import Applying
from tinkbox.engine.applying.creation import Creation
from tinkbox.engine.applying.exporting import Exporting
from tinkbox.engine.applying.kept_documents import KeptDocuments
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.discovery.discovery import Discovery
from tinkbox.engine.doctor.examiner import Examiner
from tinkbox.engine.doctor.rounds import Rounds
from tinkbox.engine.documents.kubernetes import RemarksOn
from tinkbox.engine.machines.additions import Additions
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.machines.changes import MachineChanges
from tinkbox.engine.machines.imports import Imports
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.people.tokens import Tokens
from tinkbox.engine.rollouts.rollouts import Rollouts
from tinkbox.engine.secrets.secrets import Secrets
from tinkbox.engine.services.routing_table import RoutingTable
from tinkbox.engine.services.services import Services
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.views.metrics import Meter
from tinkbox.engine.views.overview import Overview
from tinkbox.engine.views.status_changes import StatusChanges
from tinkbox.engine.views.suggested_names import SuggestedNames
from tinkbox.engine.views.workflow_plans import WorkflowPlans
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.engine.workflows.deadlines import Deadlines
from tinkbox.engine.workflows.departures import Departures
from tinkbox.engine.workflows.lost_histories import LostHistories
from tinkbox.engine.workflows.shortages import Shortages
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.audit_places import Delivery
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.hardware import Hardware
from tinkbox.model.leases import Claimant, Lease
from tinkbox.model.limits import Standing
from tinkbox.wire.dhcp.other_server_config import ForeignLines
from tinkbox.wire.messages.worker import TlsDoor


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDoor:
    """Everything the operator door speaks to.

    `server` and `registry` are how machines reach the node door, `tls` how they do over TLS; `authority` is the certificate (PEM) that signs ours;
    `osie` lists what was built;
    `foreign` is what other DHCP servers have to be told, empty where they are told nothing;
    `answers` counts those of the node door (`door.requests.request_counts`); `leases` lists the addresses of pools;
    `claimants` are hosts that answer for many addresses of pools; `followers` bounds what is followed at once;
    `login` is how people of the company log in;
    `firmware_traits` is what was learned of a machine's firmware; `limits` tells what is taken of each limit,
    `refused_tokens` how many were not valid; `progress` tells how far an action is that runs; `remarks_on_machine` what there
    is to say of a machine's document, `audit_deliveries` how far each place has the lines of the audit.
    """

    machines: Machines
    additions: Additions
    machine_changes: MachineChanges
    imports: Imports
    departures: Departures
    seen: Seen
    discovery: Discovery
    examiner: Examiner
    rounds: Rounds
    foreign: Sequence[ForeignLines]
    followers: Followers
    templates: Templates
    workflows: Workflows
    applying: Applying
    creation: Creation
    shortages: Shortages
    exporting: Exporting
    kept_documents: KeptDocuments
    workflow_plans: WorkflowPlans
    tokens: Tokens
    deadlines: Deadlines
    rollouts: Rollouts
    overview: Overview
    status_changes: StatusChanges
    breakpoints: Breakpoints
    lost_histories: LostHistories
    secrets: Secrets
    services: Services
    directory: RoutingTable
    shells: Shells
    images: images.Images
    names: SuggestedNames
    meter: Meter
    answers: Answers
    leases: Callable[[], Sequence[Lease]]
    osie: Callable[[], Sequence[Mapping[str, Any]]]
    server: str
    registry: str
    authority: str
    remarks_on_machine: RemarksOn
    login: login.LoginDoor
    audit: Audit
    own_certificate: OwnCertificate = lambda: None
    tls: Callable[[], TlsDoor | None] = lambda: None
    progress: ProgressOf = no_progress
    firmware_traits: Callable[[Hardware], FirmwareTraits] = lambda _: FirmwareTraits()
    limits: Callable[[], Sequence[Standing]] = tuple
    claimants: Callable[[], Sequence[Claimant]] = tuple
    refused_tokens: Callable[[], int] = int
    ssh_keys: Sequence[str] = ()
    audit_deliveries: Callable[[], Awaitable[Sequence[Delivery]]]

    def routes(self) -> list[web.RouteDef]:
        kinds: dict[str, Documents] = {
            "hardware": MachineDocuments(self.machines.known),
            "template": TemplateDocuments(self.templates),
            "workflow": WorkflowDocuments(self.workflows),
        }
        names = Names(self.machines.known, self.templates, self.workflows, self.rollouts, self.shells)
        scopes = Scopes(self.machines, self.breakpoints)
        described = naming(comparing(scopes.guarding(self._described(scopes)), kinds), names)
        return [*described, *openapi.routes(described)]

    def _described(self, scopes: Scopes) -> list[web.RouteDef]:
        return [
            *hardware.routes(
                self.machines,
                self.additions,
                self.machine_changes,
                self.departures,
                self.discovery,
                self.firmware_traits,
                self.lost_histories,
                self.remarks_on_machine,
                self.server,
                self.registry,
                scopes,
                self.tls,
            ),
            *at_work.routes(self.machines, self.deadlines, scopes),
            *leases.routes(self.leases, self.machines.known.holder),
            *seen.routes(self.seen, scopes),
            *discovered.routes(self.discovery),
            *doctor.routes(self.examiner, self.foreign, scopes, self.rounds.all, self.rounds.unconfirmed),
            *templates.routes(self.templates, self.machines, self.shortages),
            *workflows.routes(
                self.workflows,
                self.machines,
                self.breakpoints,
                self.lost_histories,
                self.followers,
                self.progress,
                self.templates,
                self.workflow_plans,
                self.osie,
                self.rollouts,
                self.creation,
                self.examiner,
                scopes,
            ),
            *hardware_changes.routes(
                self.machines, self.imports, self.machine_changes, self.departures, self.remarks_on_machine, scopes
            ),
            *apply.routes(self.applying, self.exporting, self.machines.known, self.osie),
            *kept_documents.routes(self.kept_documents),
            *workflow_plans.routes(self.workflow_plans, self.osie),
            *login.routes(self.login),
            *labels.routes(self.machines, self.templates, self.workflows, scopes),
            *rollouts.routes(self.rollouts, self.osie, self.progress),
            *lost_histories.routes(self.lost_histories),
            *workflow_data.routes(self.workflows, scopes),
            *breakpoints.routes(self.breakpoints, self.workflows, self.machines, scopes),
            *shells.routes(self.shells, self.followers, scopes),
            *secrets.routes(self.secrets),
            *services.routes(
                self.services, self.directory.url_of, self.machines, self.workflows.changed, self.followers
            ),
            *images.routes(self.images),
            *names.routes(self.names, self.images),
            *osie.routes(self.osie),
            *authority.routes(self.authority, self.own_certificate),
            *metadata.routes(self.ssh_keys),
            *tokens.routes(self.tokens, self.machines, self.deadlines),
            *audit.routes(self.audit, self.audit_deliveries, self.followers),
            *events.routes(self.workflows, self.followers, scopes),
            *status.routes(self.overview, self.status_changes, self.limits, self.claimants, self.rounds),
            *metrics.routes(
                self.meter, self.answers, self.limits, self.refused_tokens, self.rounds.numbers, self.audit_deliveries
            ),
        ]
