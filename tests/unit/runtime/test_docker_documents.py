from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest

from tinkbox.model.services import HealthCheck, Resources
from tinkbox.runtime import ContainerSpec
from tinkbox.runtime.docker_documents import container_config, ended_alone, network, seen
from tinkbox.runtime.hosting import Health

SPEC = ContainerSpec(image="web:v1", labels={"a": "b"})
NEVER = "0001-01-01T00:00:00Z"


def shown(state: dict[str, Any], **config: Any) -> dict[str, Any]:
    known = {"Running": False, "ExitCode": 0, "OOMKilled": False, "StartedAt": NEVER, "FinishedAt": NEVER}
    networks = {"tinkbox-w1": {"IPAddress": "10.213.0.2"}}
    return {"State": known | state, "Config": config, "NetworkSettings": {"Networks": networks}}


def test_what_is_not_asked_for_is_not_said() -> None:
    config = container_config(SPEC)
    assert not {"Cmd", "Entrypoint", "Healthcheck"} & config.keys()
    host = config["HostConfig"]
    assert (host["NetworkMode"], host["SecurityOpt"], host["PidMode"]) == ("host", [], "")


def test_all_of_a_log_is_kept_whatever_an_engine_does_with_those_of_others() -> None:
    config = container_config(SPEC)["HostConfig"]["LogConfig"]
    assert config == {"Type": "json-file", "Config": {"max-size": "1000P"}}, "what is not said is as its `log-opts` say"


def test_a_service_is_confined_and_told_its_names_ports_and_health_check() -> None:
    health = HealthCheck(test=("CMD", "check"), interval=2.5, timeout=1, start_period=0.5, retries=3)
    spec = replace(
        SPEC, network="n1", hosts={"w1.example": "10.0.0.1"}, ports=(80,), health=health, elevates=False,
        log_bytes=128, privileged=False,
    )  # fmt: skip
    config = container_config(spec)
    host = config["HostConfig"]
    assert (host["NetworkMode"], host["ExtraHosts"]) == ("n1", ["w1.example:10.0.0.1"])
    assert (host["SecurityOpt"], host["Privileged"]) == (["no-new-privileges"], False)
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "64", "max-file": "2"}}
    assert config["ExposedPorts"] == {"80/tcp": {}}
    assert config["Healthcheck"] == {
        "Test": ["CMD", "check"], "Interval": 2_500_000_000, "Timeout": 1_000_000_000, "StartPeriod": 500_000_000,
        "Retries": 3,
    }  # fmt: skip


def test_limits_and_capabilities_are_said_where_there_are_any() -> None:
    spec = replace(SPEC, resources=Resources(memory=1 << 20, cpus=1.5, pids=7), capabilities=("KILL",))
    host = container_config(spec)["HostConfig"]
    limits = {"Memory": 1 << 20, "MemorySwap": 1 << 20, "CpuPeriod": 100_000, "CpuQuota": 150_000, "PidsLimit": 7}
    assert limits.items() <= host.items()
    assert (host["CapDrop"], host["CapAdd"]) == (["ALL"], ["KILL"])
    assert not {*limits, "CapDrop", "CapAdd"} & container_config(SPEC)["HostConfig"].keys()


def test_a_look_at_one_that_never_began() -> None:
    look = seen(shown({}, ExposedPorts={"8080/tcp": {}, "53/udp": {}, "80/tcp": {}}))
    assert (look.running, look.started_at, look.ended_at, look.seconds) == (False, "", "", 0)
    assert (look.health, look.address, look.ports) == (None, "", (80, 8080))


def test_how_long_it_was_up_is_told_by_the_engines_clock() -> None:
    times = {"StartedAt": "2026-01-01T00:00:00.123456789Z", "FinishedAt": "2026-01-01T00:01:02.623456789Z"}
    look = seen(shown({**times, "ExitCode": 137, "OOMKilled": True}))
    assert (look.seconds, look.exit_code, look.out_of_memory) == (62.5, 137, True)
    assert (look.started_at, look.ended_at) == tuple(times.values())
    # Of one that runs again the newest end came before the newest start.
    again = {"Running": True, "StartedAt": times["FinishedAt"], "FinishedAt": times["StartedAt"]}
    assert seen(shown(again)).seconds == 0
    assert seen(shown(again)).address == "10.213.0.2"


@pytest.mark.parametrize(
    ("health", "said", "probe"),
    [
        ({"Status": "starting", "Log": []}, Health.STARTING, ""),
        ({"Status": "unhealthy", "Log": [{"ExitCode": 1, "Output": " refused\n"}]}, Health.UNHEALTHY, "refused"),
        ({"Status": "unhealthy", "Log": [{"ExitCode": -1, "Output": ""}]}, Health.UNHEALTHY, "exit code -1"),
        ({"Status": "healthy", "Log": [{"ExitCode": 0, "Output": "fine"}]}, Health.HEALTHY, ""),
        ({"Status": "none", "Log": None}, None, ""),
        (None, None, ""),
    ],
)
def test_its_health_is_told_and_what_a_failed_check_printed(
    health: dict[str, Any] | None, said: Health | None, probe: str
) -> None:
    look = seen(shown({"Running": True, "Health": health}))
    assert (look.health, look.probe) == (said, probe)


def test_what_a_check_printed_is_bounded() -> None:
    log = [{"ExitCode": 1, "Output": "x" * 4_096}]
    assert len(seen(shown({"Health": {"Status": "unhealthy", "Log": log}})).probe) == 500


@pytest.mark.parametrize(
    ("actions", "alone"),
    [
        (["create", "start", "die"], True),
        (["die"], True),
        (["start", "kill", "die", "start", "die"], True),
        (["start", "die", "start", "kill", "die", "stop"], False),
        (["kill", "die"], False),
        (["start"], False),
        ([], False),
    ],
)
def test_an_end_is_its_own_when_the_engine_saw_it_and_sent_no_signal_since_the_start(
    actions: list[str], alone: bool
) -> None:
    assert ended_alone(actions) is alone


def test_of_a_network_its_ipv4_subnets_are_known() -> None:
    configs = [{"Subnet": "10.0.0.0/24", "Gateway": "10.0.0.1"}, {"Subnet": "fd00::/64"}, {}]
    known = network({"Id": "n1", "IPAM": {"Config": configs}, "Labels": {"a": "b"}})
    assert (known.id, known.subnets, known.labels) == ("n1", (IPv4Network("10.0.0.0/24"),), {"a": "b"})
    assert network({"Id": "host", "IPAM": {"Config": None}, "Labels": None}).subnets == ()
