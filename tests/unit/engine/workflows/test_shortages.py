"""What new workflows will lack."""

from dataclasses import replace

from tests.unit.model.flows import action, service, status, workflow
from tinkbox.engine.workflows.shortages import New, Shortages
from tinkbox.model.images.standing import ImageStanding, Source
from tinkbox.model.metadata import Metadata
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State, Workflow

OURS = "workflows.tinkbox.internal"
SEEDS = "workflows.tinkerbell.local"


def told(flow: Workflow, domain: str = OURS) -> list[str]:
    return Shortages(lambda _: ImageStanding(source=Source.APPLIANCE), lambda *_: "", domain).names(
        [New(flow, Metadata())] * 2
    )


def named(domain: str) -> Workflow:
    """A workflow with a service that is asked for by the workflow's name."""
    planned = service(Phase.PENDING)
    rule = ("traefik.http.routers.boot.rule", f"Host(`w1.{domain}`) && PathPrefix(`/boot`)")
    spec = replace(planned.service.spec, labels=(rule,))
    return workflow(State.PENDING, services=(replace(planned, service=replace(planned.service, spec=spec)),))


def test_a_name_below_another_domain_is_told_with_the_setting() -> None:
    (line,) = told(named(SEEDS))
    assert line == (
        f"names below {SEEDS} do not lead to the services of a workflow here, those below {OURS} do: set services.domain: {SEEDS} in "
        f"tinkbox.yaml, or write {OURS}"
    )


def test_a_name_below_our_domain_is_not_told() -> None:
    assert told(named(OURS)) == []
    assert told(named(SEEDS.upper()), SEEDS) == []


def test_what_an_action_asks_for_is_told_as_well() -> None:
    asking = status(State.PENDING, action=action(environment={"URL": f"http://w1.{SEEDS}/boot"}))
    assert len(told(workflow(State.PENDING, [asking]))) == 1
    other = status(State.PENDING, action=action(environment={"URL": f"http://w2.{SEEDS}/boot"}))
    assert told(workflow(State.PENDING, [other])) == []
