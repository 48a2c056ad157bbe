"""Lists as a person at a terminal and a script see them, of a real appliance."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.cli.person import Person
from tests.integration.cli.serving import Configuration, run_here
from tests.integration.engine.appliance import HELLO, hardware, mac


@contextmanager
def person(configuration: Configuration, *words: str) -> Iterator[Person]:
    with Person(["--data", str(configuration.data), *words], {"TZ": "CET-1"}) as one:
        yield one


def test_a_list_is_watched_until_q(appliance: Configuration) -> None:
    with person(appliance, "template", "list", "--watch") as one:
        one.sees("CHANGED")
        run_here("--data", str(appliance.data), "template", "create", "-n", "watched", stdin=HELLO.encode())
        one.sees("watched")
        one.type("q")
        assert one.ends() == 0
        assert one.settings() == one.before


def test_a_lists_filters_and_columns_are_those_of_the_api(appliance: Configuration) -> None:
    local = ("--data", str(appliance.data))
    for number in (1, 2):
        assert run_here(*local, "hardware", "push", stdin=json.dumps(hardware(number)).encode()).status == 0
    assert run_here(*local, "template", "create", "-n", "hello", stdin=HELLO.encode()).status == 0
    created = [
        run_here(*local, "workflow", "create", "-t", "hello", "-r", json.dumps({"device_1": mac(number)})).out.split()[
            -1
        ]
        for number in (1, 2)
    ]
    run_here(*local, "workflow", "cancel", created[0])

    def found(*flags: str) -> list[str]:
        listed = run_here(*local, "workflow", "list", *flags)
        assert listed.status == 0, listed.err
        return [line.split()[0] for line in listed.out.splitlines()[1:]]

    first, second = (each[:8] for each in created)
    assert found() == [second, first]
    assert found("--sort", "created_at") == [first, second]
    assert found("--state", "canceled") == found("--machine", "machine-1") == [first]
    assert found("--template", "hello", "--since", "1h", "--limit", "1") == [second]
    assert found("-l", "rack=r1") == found("--since", "2100-01-01") == []
    assert run_here(*local, "workflow", "list", "--machine", "nowhere").status == 1
    (row,) = json.loads(run_here(*local, "hardware", "list", "--state", "waiting", "-o", "json").out)
    assert row["name"] == "machine-2"
    assert run_here(*local, "hardware", "list", "--sort", "-name", "-o", "name").out == "machine-2\nmachine-1\n"
    for noun in ("service", "breakpoint", "image"):
        assert run_here(*local, noun, "list", "--sort", "name").status == 0
    listed = run_here(*local, "workflow", "list", "--limit", "1")
    assert listed.err == "1 of 2 shown; --limit 0 shows all\n"


def test_workflows_are_found_and_canceled_by_the_labels_of_their_machines(appliance: Configuration) -> None:
    local = ("--data", str(appliance.data))
    assert run_here(*local, "hardware", "push", stdin=json.dumps(hardware(5)).encode()).status == 0
    run_here(*local, "template", "create", "-n", "racked", stdin=HELLO.encode())
    devices = json.dumps({"device_1": mac(5)})
    created = run_here(*local, "workflow", "create", "-t", "racked", "-r", devices).out.split()[-1]
    assert run_here(*local, "hardware", "label", "machine-5", "rack=r5").status == 0
    assert run_here(*local, "workflow", "list", "-q", "-l", "rack=r5").out.split() == [created]
    refused = run_here(*local, "workflow", "cancel", "-l", "rack=r5")
    assert (refused.status, "type `tinkbox " in refused.err) == (1, True)
    assert run_here(*local, "workflow", "cancel", "-l", "rack=r5", "--yes").status == 0
    assert json.loads(run_here(*local, "workflow", "get", created, "-o", "json").out)["state"] == "CANCELED"
    good_day = run_here(*local, "workflow", "cancel", "-l", "rack=r5", "--yes")
    told = "no pending or running or stopping workflow has the labels rack=r5: there is nothing to do"
    assert (good_day.status, good_day.err) == (0, f"tinkbox: {told}\n")
    assert run_here(*local, "workflow", "cancel", "-l", "rack=nowhere", "--yes").status == 1


def test_times_are_those_of_this_host_with_their_zone(appliance: Configuration) -> None:
    pushed = run_here("--data", str(appliance.data), "hardware", "push", stdin=json.dumps(hardware(1)).encode())
    assert pushed.status == 0
    for flags, zone in (((), "CET"), (("--utc",), "UTC")):
        with person(appliance, "hardware", "get", "machine-1", *flags) as one:
            assert one.ends() == 0
            assert f" {zone}".encode() in one.seen
