"""Which service a request is for, of whom, and what a machine is supplied for its boot."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tinkbox.engine.services import routing_table as module
from tinkbox.engine.services.routing_table import Hosted, RoutingTable, doing, serves
from tinkbox.model.boot import Supply
from tinkbox.model.services import APPLIANCE, Phase, PlannedService, Service, ServiceStatus, Standing
from tinkbox.model.workflow import State
from tinkbox.wire.routing.labels import Labels, read_labels
from tinkbox.wire.routing.rules import Request

DOMAIN = "workflows.tinkbox.internal"
ALL, PUBLIC = "PathPrefix(`/`)", ("tinkbox.public", "true")
Pairs = tuple[tuple[str, str], ...]


def rule(text: str = ALL, *more: tuple[str, str], priority: int | None = None, router: str = "r") -> Pairs:
    told = () if priority is None else ((f"traefik.http.routers.{router}.priority", str(priority)),)
    return ((f"traefik.http.routers.{router}.rule", text), *told, *more)


def service(name: str = "web", labels: Pairs = (), *, host: str = APPLIANCE, **standing: Any) -> ServiceStatus:
    said = {"phase": Phase.READY, "address": "10.213.0.2", "ports": (80,), **standing}
    return ServiceStatus(
        service=PlannedService(index=0, host=host, spec=Service(name=name, worker="", image="web:v1", labels=labels)),
        standing=Standing(run=name, **said),
    )


def hosted(workflow: str, *services: ServiceStatus, machines: Sequence[str] = ("m1",), **otherwise: Any) -> Hosted:
    numbered = tuple(replace(each, service=replace(each.service, index=n)) for n, each in enumerate(services))
    made = Hosted(
        workflow_id=workflow, state=State.RUNNING, wanted=True, machines=frozenset(machines),
        services=numbered, next_of=frozenset(machines),
    )  # fmt: skip
    return replace(made, **otherwise)


def known(*all_of_them: Hosted, url: str = "http://10.0.0.1") -> RoutingTable:
    directory = RoutingTable(DOMAIN, url)
    directory.replace(all_of_them)
    return directory


def found(
    directory: RoutingTable, machine: str = "m1", host: str = "10.0.0.1", path: str = "/x", client: str = ""
) -> str:
    """Workflow and service, or nothing."""
    place = directory.find(Request(method="GET", host=host, path=path, client=client), machine)
    return f"{place.hosted.workflow_id}/{place.service.service.spec.name}" if place else ""


def test_a_machine_sees_the_routes_of_its_workflows_and_nobody_else_does() -> None:
    directory = known(hosted("w1", service(labels=rule())))
    assert found(directory) == "w1/web"
    assert found(directory, host=f"w1.{DOMAIN}") == "w1/web"
    for stranger in ("m2", ""):
        assert found(directory, stranger) == ""
        assert found(directory, stranger, host=f"w1.{DOMAIN}") == ""
        assert found(directory, stranger, client="10.0.0.77") == ""


def test_so_does_a_machine_that_hosts_one_of_its_services() -> None:
    directory = known(hosted("w1", service("web", rule()), service("other", host="m2")))
    assert found(directory, "m2") == "w1/web"


def test_so_do_the_containers_of_its_services_on_the_appliance() -> None:
    directory = known(hosted("w1", service("web", rule()), service("other", address="10.213.0.3")))
    assert found(directory, "", client="10.213.0.3") == "w1/web"
    assert found(directory, "", client="10.213.0.2") == "w1/web"
    assert found(directory, "", client="10.213.0.4") == ""


def test_a_machine_cannot_make_others_see_routes_by_claiming_their_address() -> None:
    directory = known(hosted("w1", service("web", rule(), host="m1", address="10.0.0.77")))
    assert found(directory, "", client="10.0.0.77") == ""
    assert found(directory, "m1") == "w1/web"


def test_a_service_without_an_address_makes_nobody_a_member() -> None:
    directory = known(hosted("w1", service("web", rule(), phase=Phase.STARTING, address="")))
    assert found(directory, "", client="") == ""


def test_public_routes_are_for_everybody() -> None:
    directory = known(
        hosted("w1", service("web", rule(ALL, PUBLIC)), service("secret", rule("Path(`/s`)", priority=1000)))
    )
    assert found(directory, "") == "w1/web"
    assert found(directory, "", path="/s") == "w1/web"
    assert found(directory, "m1", path="/s") == "w1/secret"
    assert found(directory, "", host=f"w1.{DOMAIN}", path="/s") == "w1/web"


def test_a_machine_s_own_routes_come_before_public_ones_of_others() -> None:
    directory = known(
        hosted("w1", service(labels=rule(ALL, PUBLIC, priority=1000)), machines=["m1"]),
        hosted("w2", service(labels=rule(ALL, priority=1)), machines=["m2"]),
    )
    assert found(directory, "m2") == "w2/web"
    assert found(directory, "m3") == "w1/web"


def test_the_name_of_a_workflow_leads_to_its_own_services_only() -> None:
    directory = known(
        hosted("w1", service(labels=rule("Path(`/only`)"))),
        hosted("w2", service(labels=rule(ALL, PUBLIC)), machines=["m1"]),
    )
    assert found(directory, host=f"w1.{DOMAIN}") == ""
    assert found(directory, host=f"w1.{DOMAIN}", path="/only") == "w1/web"
    assert found(directory, host=f"w2.{DOMAIN}", path="/only") == "w2/web"
    assert found(directory, host=f"none.{DOMAIN}", path="/only") == "w2/web", "a name that is no workflow's is any host"


def test_the_highest_priority_wins_which_is_the_length_of_the_rule_by_default() -> None:
    short, long = rule("PathPrefix(`/x`)"), rule("PathPrefix(`/x`) && Method(`GET`)")
    assert found(known(hosted("w1", service("a", short), service("b", long)))) == "w1/b"
    assert found(known(hosted("w1", service("a", rule("Path(`/x`)", priority=99)), service("b", long)))) == "w1/a"
    many = (*rule("Path(`/x`)", router="one", priority=1), *rule("Path(`/x`)", router="two", priority=3))
    assert found(known(hosted("w1", service("a", rule(priority=2)), service("b", many)))) == "w1/b"


def test_of_equals_a_running_workflow_wins_then_the_oldest_then_the_first_in_the_template() -> None:
    one = service("one", rule())
    assert found(known(hosted("w1", one), hosted("w2", one))) == "w1/one"
    assert found(known(hosted("w1", one, state=State.PENDING), hosted("w2", one))) == "w2/one"
    assert found(known(hosted("w1", one, state=State.PENDING), hosted("w2", one, state=State.STOPPING))) == "w2/one"
    assert (
        found(
            known(
                hosted(
                    "w1", one, replace(one, service=replace(one.service, spec=replace(one.service.spec, name="two")))
                )
            )
        )
        == "w1/one"
    )


def test_a_workflow_that_waits_for_its_turn_does_not_stand_before_the_one_whose_turn_it_is() -> None:
    directory = known(
        hosted("w1", service(labels=rule(priority=1))),
        hosted("w2", service(labels=rule(priority=9)), wanted=False, state=State.PENDING),
    )
    assert found(directory) == "w1/web"
    assert found(directory, host=f"w2.{DOMAIN}") == "w2/web"


def test_replacing_leaves_nothing_of_what_was() -> None:
    directory = known(hosted("w1", service(labels=rule(ALL, PUBLIC))))
    directory.replace([])
    assert found(directory) == ""
    assert found(directory, "", host=f"w1.{DOMAIN}") == ""
    assert directory.supply("m1") is None


def test_labels_are_read_once_and_forgotten_with_their_services(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counting(labels: Pairs, urls: tuple[str, ...] = ()) -> Labels:
        read.append(labels)
        return read_labels(labels, urls)

    monkeypatch.setattr(module, "read_labels", counting)
    directory = known(hosted("w1", service(labels=rule())), hosted("w2", service(labels=rule())))
    for phase in Phase:
        directory.replace([hosted("w1", service(labels=rule(), phase=phase))])
    assert len(read) == 1
    directory.replace([])
    directory.replace([hosted("w1", service(labels=rule()))])
    assert len(read) == 2


def test_labels_that_are_refused_make_no_route_and_no_trouble() -> None:
    directory = known(hosted("w1", service("bad", rule("Nonsense(`x`)")), service("good", rule())))
    assert found(directory) == "w1/good"


def test_a_request_looks_at_the_rules_that_may_be_for_it_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand workflows, each with two private routes of its own and one public one by name."""
    looked = 0
    everybody = [
        hosted(
            f"w{n}",
            service("a", rule("PathPrefix(`/never`)")),
            service("b", rule(ALL)),
            machines=[f"m{n}"],
        )
        for n in range(1000)
    ]
    directory = known(*everybody)
    matches = type(read_labels(rule()).routes[0].rule).matches

    def counting(self: Any, request: Request) -> bool:
        nonlocal looked
        looked += 1
        return matches(self, request)

    monkeypatch.setattr(type(read_labels(rule()).routes[0].rule), "matches", counting)
    assert found(directory, "m500") == "w500/b"
    assert found(directory, "m999", host=f"w999.{DOMAIN}") == "w999/b"
    assert found(directory, "m1", host=f"w999.{DOMAIN}") == ""
    assert looked <= 4


@pytest.mark.parametrize(
    ("host", "covered"),
    [(DOMAIN, True), (f"w1.{DOMAIN}", True), (f"a.b.{DOMAIN}", True), (f"w1{DOMAIN}", False), ("10.0.0.1", False), ("", False)],
)  # fmt: skip
def test_the_domain_covers_itself_and_what_is_below_it(host: str, covered: bool) -> None:
    assert known().covers(host) is covered


@pytest.mark.parametrize(
    ("url", "port"), [("http://10.0.0.1", ""), ("http://10.0.0.1:80", ""), ("http://10.0.0.1:8080", ":8080")]
)
def test_a_label_names_the_boot_script(url: str, port: str) -> None:
    boots = service("boots", (("tinkbox.boot.ipxe", "/own.ipxe"),))
    directory = known(hosted("w1", service("web", rule()), boots), url=url)
    assert directory.supply("m1") == Supply(
        service="boots",
        url=f"http://w1.{DOMAIN}{port}/own.ipxe",
        ready=True,
        standing="service boots is ready",
    )


def test_a_label_may_name_the_workflow_with_it_and_no_other_host() -> None:
    def labelled(host: str) -> RoutingTable:
        return known(hosted("w1", service("boots", (("boots.auto.ipxe", f"http://{host}/own.ipxe"),))))

    own = labelled(f"w1.{DOMAIN}").supply("m1")
    assert own is not None
    assert own.url == f"http://w1.{DOMAIN}/own.ipxe"
    assert labelled(f"w2.{DOMAIN}").supply("m1") is None


def test_without_a_label_the_service_that_answers_the_usual_path_supplies_the_script() -> None:
    name = f"Host(`w1.{DOMAIN}`) && Path(`/auto.ipxe`)"
    supplied = known(hosted("w1", service("web", rule("Path(`/x`)")), service("boots", rule(name)))).supply("m1")
    assert supplied is not None
    assert (supplied.service, supplied.url) == ("boots", f"http://w1.{DOMAIN}/auto.ipxe")
    assert known(hosted("w1", service("web", rule("Path(`/x`)")))).supply("m1") is None


@pytest.mark.parametrize("text", ["PathPrefix(`/`)", "PathPrefix(`/auto`)", "Method(`GET`)", "HostRegexp(`.`)"])
def test_a_route_that_only_happens_to_hold_the_boot_script_supplies_none(text: str) -> None:
    assert known(hosted("w1", service("files", rule(text)))).supply("m1") is None


def test_a_machine_of_the_workflow_cannot_supply_what_it_boots_itself() -> None:
    name = rule(f"Host(`w1.{DOMAIN}`) && Path(`/auto.ipxe`)")
    assert known(hosted("w1", service("boots", name, host="m1"))).supply("m1") is None


def test_only_the_workflow_whose_turn_it_is_supplies_a_machine() -> None:
    boots = service("boots", (("tinkbox.boot.ipxe", "/own.ipxe"),))
    waiting = hosted("w1", boots, wanted=False, state=State.PENDING, next_of=frozenset())
    assert known(waiting).supply("m1") is None
    assert known(hosted("w1", boots, wanted=False)).supply("m1") is None
    assert known(hosted("w1", boots)).supply("m2") is None
    supplied = known(waiting, hosted("w2", boots)).supply("m1")
    assert supplied is not None
    assert supplied.url.startswith(f"http://w2.{DOMAIN}")


def test_a_machine_with_something_else_to_do_first_is_supplied_nothing() -> None:
    """What it has to do first may be a workflow without services, of which the directory knows nothing."""
    boots = service("boots", (("tinkbox.boot.ipxe", "/own.ipxe"),))
    directory = known(hosted("w1", boots, machines=["m1", "m2"], next_of=frozenset({"m1"})))
    assert directory.supply("m1") is not None
    assert directory.supply("m2") is None


def test_a_machine_that_only_hosts_a_service_boots_nothing_of_it() -> None:
    directory = known(hosted("w1", service("boots", (("tinkbox.boot.ipxe", "/own.ipxe"),), host="m2")))
    assert directory.supply("m2") is None
    assert directory.supply("m1") is not None


def test_a_script_that_is_not_there_yet_is_waited_for_and_it_is_told_why() -> None:
    labels = (("tinkbox.boot.ipxe", "/own.ipxe"),)
    starting = service("boots", labels, phase=Phase.STARTING, message="pulling boots:v1", address="")
    supplied = known(hosted("w1", starting)).supply("m1")
    assert supplied is not None
    assert (supplied.ready, supplied.standing) == (False, "service boots is starting: pulling boots:v1")


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_is_told_in_words(phase: Phase) -> None:
    told = doing(service(phase=phase))
    assert told.split()[0] in ("is", "has", "was", "ended", "failed")
    assert doing(service(phase=phase, message="why")) == f"{told}: why"


def test_a_service_serves_when_it_is_up_and_has_an_address() -> None:
    assert {phase for phase in Phase if serves(service(phase=phase))} == {Phase.READY, Phase.UNHEALTHY}
    assert not serves(service(address=""))
