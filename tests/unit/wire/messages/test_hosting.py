"""What hosts of services and the appliance say to each other."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.command_lines import not_ours
from tinkbox.model.errors import Invalid
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
from tinkbox.wire.messages.hosting import (
    MAX_OBSERVED,
    MAX_STANDING_MESSAGE,
    Observed,
    Wanted,
    WantedService,
    decode_observed,
    decode_wanted,
    encode,
)
from tinkbox.wire.messages.worker import MAX_TAIL_LINE

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
SAID = TEXT.map(not_ours)
NUMBERS = st.integers(0, 10**6)
SECONDS = st.floats(0, 1e6)
PORTS = st.lists(st.integers(1, 65_535), max_size=3).map(tuple)
SERVICES = st.builds(
    PlannedService,
    index=NUMBERS,
    host=TEXT,
    spec=st.builds(
        Service,
        name=TEXT,
        worker=TEXT,
        image=TEXT,
        command=TEXTS,
        environment=st.dictionaries(TEXT, TEXT, max_size=3),
        volumes=TEXTS,
        labels=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
        urls=TEXTS,
        health=st.none()
        | st.builds(HealthCheck, test=TEXTS, interval=SECONDS, timeout=SECONDS, start_period=SECONDS, retries=NUMBERS),
        restart=st.builds(Restart, policy=st.sampled_from(RestartPolicy), limit=NUMBERS),
        ports=PORTS,
        timeout=NUMBERS,
        resources=st.builds(Resources, memory=NUMBERS, cpus=SECONDS, pids=NUMBERS),
    ),
)
STANDINGS = st.builds(
    Standing, run=TEXT, phase=st.sampled_from(Phase), restarts=NUMBERS, exit_code=st.none() | NUMBERS,
    signal=SAID, reason=SAID, message=SAID, tail=st.lists(SAID, max_size=3).map(tuple), address=TEXT, ports=PORTS,
)  # fmt: skip
WANTED = st.builds(
    WantedService, run=TEXT, workflow_id=TEXT, service=SERVICES, restarts=NUMBERS, phase=st.sampled_from(Phase),
    hosts=st.dictionaries(TEXT, TEXT, max_size=2), appliance_only=st.booleans(),
)  # fmt: skip
SERVICE = PlannedService(index=0, host="", spec=Service(name="boot", worker="m", image="i", health=HealthCheck()))
ONE = WantedService(run="r1", workflow_id="w1", service=SERVICE, hosts={"w1.lab": "172.30.0.1"})


@given(st.lists(WANTED, max_size=3).map(tuple))
def test_what_is_wanted_travels_unchanged(services: tuple[WantedService, ...]) -> None:
    wanted = Wanted(services=services)
    assert decode_wanted(encode(wanted)) == wanted
    assert decode_wanted(encode(wanted)).mark == wanted.mark


@given(TEXT, st.lists(STANDINGS, max_size=3).map(tuple))
def test_what_is_observed_travels_unchanged(boot_id: str, standings: tuple[Standing, ...]) -> None:
    observed = Observed(boot_id=boot_id, standings=standings)
    assert decode_observed(encode(observed)) == observed


def test_nothing_that_a_service_says_looks_like_a_command_of_ours() -> None:
    said = "`tinkbox workflow cancel node1`"
    standing = Standing(
        run="r1",
        phase=Phase.FAILED,
        signal=said,
        reason=ReasonText(said),
        message=said,
        tail=(said,),
        restarted=(Restarted(number=1, exit_code=1, signal=said, message=said),),
    )
    assert "`" not in str(decode_observed(encode(Observed(boot_id="b", standings=(standing,)))))


@given(SERVICES)
def test_a_service_is_stored_and_found_unchanged(service: PlannedService) -> None:
    assert decode_wanted(encode(Wanted(services=(replace(ONE, service=service),)))).services[0].service == service


def test_the_mark_tells_runs_and_names_and_nothing_that_the_host_says_itself() -> None:
    mark = Wanted(services=(ONE,)).mark
    assert Wanted(services=(replace(ONE, restarts=7, phase=Phase.READY),)).mark == mark
    for other in (
        Wanted(),
        Wanted(services=(replace(ONE, run="r2"),)),
        Wanted(services=(replace(ONE, workflow_id="w2"),)),
        Wanted(services=(replace(ONE, hosts={"w1.lab": "172.30.0.2"}),)),
        Wanted(services=(ONE, replace(ONE, run="r2"))),
    ):
        assert other.mark != mark


def test_what_an_older_appliance_does_not_say_is_what_it_was() -> None:
    entry = json.loads(encode(Wanted(services=(replace(ONE, phase=Phase.READY, restarts=3),))))
    for name in ("restarts", "hosts", "phase"):
        del entry["services"][0][name]
    (read,) = decode_wanted(json.dumps(entry)).services
    assert (read.restarts, read.hosts, read.phase) == (0, {}, Phase.PENDING)


def test_that_only_the_appliance_is_asked_for_its_image_is_said_where_it_is_so() -> None:
    assert "appliance_only" not in encode(Wanted(services=(ONE,)))
    only = Wanted(services=(replace(ONE, appliance_only=True),))
    assert decode_wanted(encode(only)) == only


def test_what_a_host_says_is_cut_to_what_is_kept() -> None:
    standing = Standing(
        run="r1", phase=Phase.FAILED, signal="S" * 999, reason="R" * 999, message="m" * 99_999,
        tail=tuple(str(line) + "x" * 9_999 for line in range(999)), address="1" * 999,
    )  # fmt: skip
    (read,) = decode_observed(encode(Observed(boot_id="b", standings=(standing,)))).standings
    assert (len(read.signal), len(read.reason), len(read.message)) == (MAX_REASON, MAX_REASON, MAX_STANDING_MESSAGE)
    assert (len(read.tail), read.tail[-1][:4], len(read.address)) == (3, "998x", 64)
    assert len(read.tail[-1]) == MAX_TAIL_LINE


def test_restarts_travel_where_there_are_some_and_are_cut_to_what_is_kept() -> None:
    ends = tuple(Restarted(number=number, exit_code=1, signal="S" * 999, message="m" * 9_999) for number in range(99))
    quiet = Standing(run="r1", phase=Phase.READY)
    (read,) = decode_observed(encode(Observed(boot_id="b", standings=(replace(quiet, restarted=ends),)))).standings
    assert [each.number for each in read.restarted] == list(range(99 - TOLD_RESTARTS, 99))
    assert (len(read.restarted[0].signal), len(read.restarted[0].message)) == (MAX_REASON, MAX_STANDING_MESSAGE)
    entry = json.loads(encode(Observed(boot_id="b", standings=(quiet,))))
    assert "restarted" not in entry["standings"][0]
    entry["standings"][0]["restarted"] = {"number": 1}
    with pytest.raises(Invalid, match="restarted is missing or is no list"):
        decode_observed(json.dumps(entry))


def test_more_services_than_fit_on_a_host_are_refused() -> None:
    standing = Standing(run="r", phase=Phase.READY)
    assert decode_observed(encode(Observed(boot_id="b", standings=(standing,) * MAX_OBSERVED))).standings
    with pytest.raises(Invalid, match="257 services: at most 256"):
        decode_observed(encode(Observed(boot_id="b", standings=(standing,) * (MAX_OBSERVED + 1))))


def changed(path: str, value: object) -> Callable[[object], object]:
    """A message with something else at one place of it, such as `services.0.run`."""

    def change(message: object) -> object:
        place = message
        *way, last = (int(each) if each.isdigit() else each for each in path.split("."))
        for each in way:
            place = place[each]  # type: ignore[index]
        place[last] = value  # type: ignore[index]
        return message

    return change


@pytest.mark.parametrize(
    "change",
    [
        *[changed(path, {}) for path in ("services", "services.0.run", "services.0.workflow_id", "services.0.service.name")],
        *[changed(path, 1) for path in ("services.0", "services.0.hosts", "services.0.service", "services.0.service.health")],
        *[changed(f"services.0.service.{name}", "x") for name in ("index", "labels", "ports", "restart", "timeout", "urls")],
        changed("services.0.service.labels", [["a", "b", "c"]]),
        changed("services.0.service.labels", ["ab"]),
        changed("services.0.service.health.interval", True),
        changed("services.0.service.restart.policy", "sometimes"),
        changed("services.0.phase", "ASLEEP"),
        *[changed("services.0.service.ports", [port]) for port in (0, 65_536, -1, True, "80", 1.5)],
        lambda _: [],
    ],
)  # fmt: skip
def test_what_does_not_say_what_is_wanted_is_refused(change: Callable[[object], object]) -> None:
    with pytest.raises(Invalid):
        decode_wanted(json.dumps(change(json.loads(encode(Wanted(services=(ONE,)))))))


@pytest.mark.parametrize(
    "change",
    [
        *[changed(path, {}) for path in ("boot_id", "standings", "standings.0.run", "standings.0.message")],
        *[changed(f"standings.0.{name}", "x") for name in ("phase", "restarts", "exit_code", "tail", "ports")],
        changed("standings.0", None),
        changed("standings.0.restarts", True),
        lambda _: "text",
    ],
)
def test_what_does_not_say_what_a_host_has_is_refused(change: Callable[[object], object]) -> None:
    observed = Observed(boot_id="b", standings=(Standing(run="r", phase=Phase.READY),))
    with pytest.raises(Invalid):
        decode_observed(json.dumps(change(json.loads(encode(observed)))))


def test_who_says_nothing_does_not_say_that_there_is_nothing() -> None:
    for message in ("{}", '{"boot_id": "b"}', '{"boot_id": "b", "services": null, "standings": null}'):
        for decode in (decode_wanted, decode_observed):
            with pytest.raises(Invalid, match="is missing or is no list"):
                decode(message)


@given(st.binary(max_size=60))
def test_noise_is_refused_and_nothing_else_happens(noise: bytes) -> None:
    for decode in (decode_wanted, decode_observed):
        with pytest.raises(Invalid):
            decode(noise)


def test_a_service_travels_as_one_flat_object_with_its_keys_in_the_order_of_the_first_release() -> None:
    assert encode(Wanted(services=(ONE,))) == (
        '{"services":[{"run":"r1","workflow_id":"w1","service":{"index":0,"name":"boot","host":"","address":"m","image":"i",'
        '"command":[],"environment":{},"volumes":[],"labels":[],"urls":[],"health":{"test":[],"interval":0.0,"timeout":0.0,'
        '"start_period":0.0,"retries":0},"restart":{"policy":"on-failure","limit":5},"ports":[],"timeout":300},"restarts":0,'
        '"hosts":{"w1.lab":"172.30.0.1"},"phase":"PENDING"}]}'
    )
