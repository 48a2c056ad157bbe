"""The behaviours that services show, on a real engine."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.docker_engine import HEARD
from tests.integration.hosting.lab import BARE, IMAGE, Lab, place_for
from tests.integration.registry.serving import until
from tinkbox.hosting.folder import RunFolder
from tinkbox.model.services import HealthCheck, HostFolder, Phase, Resources, Restart, RestartPolicy, Share
from tinkbox.wire.ephemeral_data import Entry, decode

pytestmark = pytest.mark.docker

STARTING, READY, UNHEALTHY, RESTARTING = Phase.STARTING, Phase.READY, Phase.UNHEALTHY, Phase.RESTARTING
EXITED, FAILED, STOPPING, STOPPED = Phase.EXITED, Phase.FAILED, Phase.STOPPING, Phase.STOPPED
SERVE = 'mkdir -p /www; echo "$TINKBOX_SERVICE of $TINKBOX_WORKFLOW" >/www/word; exec httpd -f -p 8080 -h /www'
UNTIL_TOLD = "echo begins; while [ ! -e /workflow/{0} ]; do sleep 0.05; done; "
QUICK = HealthCheck(test=("CMD-SHELL", "test -e /workflow/fit || { echo unfit; exit 1; }"), interval=0.1, retries=2)


async def test_one_without_a_health_check_is_ready_once_it_is_up_and_answers_at_its_address(lab: Lab) -> None:
    lab.host_link.want(lab.service(SERVE))
    async with lab.hosting():
        standing = await lab.until(READY)
        assert standing.ports == (8080, 8081)
        assert await lab.fetch(8080) == b"web of w1\n"
        lab.host_link.want()
        await lab.until_nothing_is_left()
    assert lab.phases() == [STARTING, READY, STOPPING, STOPPED]


async def test_one_that_becomes_healthy_after_a_while_is_ready_then(lab: Lab) -> None:
    lab.host_link.want(lab.service("echo begins; exec tail -f /dev/null", health=QUICK))
    async with lab.hosting():
        await until(lambda: lab.standing().message == "its health check fails: unfit")
        assert lab.standing().phase is STARTING
        (lab.place.folder / "r1" / "workflow" / "fit").touch()
        standing = await lab.until(READY)
        assert standing.message == ""
    assert lab.phases() == [STARTING, READY]


async def test_one_that_never_becomes_healthy_says_what_its_check_says_and_what_it_printed(lab: Lab) -> None:
    lab.host_link.want(lab.service("echo cannot find my key; exec tail -f /dev/null", health=QUICK))
    async with lab.hosting():
        await until(lambda: lab.standing().tail == ("cannot find my key",))
        await until(lambda: lab.standing().message == "its health check fails: unfit")
        await asyncio.sleep(1)
        lab.host_link.want()
        await lab.until_nothing_is_left()
    assert lab.phases() == [STARTING, STOPPING, STOPPED]


async def test_one_that_was_ready_may_become_unhealthy_and_recover_without_a_restart(lab: Lab) -> None:
    lab.host_link.want(lab.service("echo >/workflow/fit; exec tail -f /dev/null", health=QUICK))
    fit = lab.place.folder / "r1" / "workflow" / "fit"
    async with lab.hosting():
        await lab.until(READY)
        fit.unlink()
        assert (await lab.until(UNHEALTHY)).message == "its health check fails: unfit"
        fit.touch()
        assert (await lab.until(READY)).restarts == 0


async def test_one_that_exits_0_has_done_its_work(lab: Lab) -> None:
    lab.host_link.want(lab.service(f"echo prepared; {HEARD}; exit 0"))
    async with lab.hosting():
        standing = await lab.until(EXITED)
        assert (standing.exit_code, standing.reason, standing.tail) == (0, "", ("prepared",))
        await asyncio.sleep(1)
        lab.host_link.want()
        await lab.until_nothing_is_left()
    assert lab.phases() == [STARTING, EXITED]
    assert lab.host_link.printed == {"r1": b"prepared\n"}


async def test_one_that_exits_0_before_it_is_healthy_never_served(lab: Lab) -> None:
    lab.host_link.want(lab.service("exit 0", health=QUICK))
    async with lab.hosting():
        assert (await lab.until(FAILED)).reason == "ServiceEnded"


async def test_one_that_exits_1_for_ever_is_given_up_after_its_restarts(lab: Lab) -> None:
    lab.host_link.want(lab.service(f"echo cannot; {HEARD}; exit 1"))
    async with lab.hosting():
        standing = await lab.until(FAILED)
        assert (standing.reason, standing.restarts, standing.exit_code) == ("ServiceFailed", 5, 1)
        assert standing.message == "ended with exit code 1 (cannot), after 5 restarts in a row"
        assert standing.tail == ("cannot",)
        await until(lambda: lab.host_link.printed == {"r1": b"cannot\n" * 6})
        lab.host_link.want()
        await lab.until_nothing_is_left()
    assert lab.phases()[-1] is FAILED


async def test_one_whose_image_is_missing_fails_at_once(lab: Lab) -> None:
    lab.host_link.want(lab.service(image="nothing:v1"))
    async with lab.hosting():
        standing = await lab.until(FAILED)
        assert standing.reason == "ImageNotFound"
        lab.host_link.want()
        await lab.until_nothing_is_left()


async def test_one_that_ignores_sigterm_is_killed_after_the_grace(lab: Lab) -> None:
    lab.host_link.want(lab.service("trap 'echo no' TERM; echo deaf; while :; do sleep 0.1; done"))
    async with lab.hosting(grace=5):
        await lab.until(READY)
        await until(lambda: lab.host_link.printed.get("r1") == b"deaf\n")
        lab.host_link.want()
        standing = await lab.until(STOPPED)
        assert (standing.exit_code, standing.signal) == (137, "SIGKILL")
        await lab.until_nothing_is_left()
    assert lab.host_link.printed == {"r1": b"deaf\nno\n"}


async def test_what_an_ended_service_says_last_arrives(lab: Lab) -> None:
    heeds = "trap 'echo bye; echo late >/workflow/late; exit 3' TERM; echo begins; while :; do sleep 0.1; done"
    lab.host_link.want(lab.service(heeds))
    async with lab.hosting(grace=60):
        await lab.until(READY)
        await until(lambda: lab.host_link.printed.get("r1") == b"begins\n")
        lab.host_link.want()
        standing = await lab.until(STOPPED)
        assert standing.exit_code == 3
    assert lab.host_link.printed == {"r1": b"begins\nbye\n"}
    assert [entry.path for entry in decode(lab.host_link.data["r1"][-1])] == ["late"]


async def test_a_command_that_is_not_there_fails_it(lab: Lab) -> None:
    lab.host_link.want(lab.service())
    wanted = lab.service()
    lab.host_link.want(
        replace(wanted, service=replace(wanted.service, spec=replace(wanted.service.spec, command=("/bin/nothing",))))
    )
    async with lab.hosting():
        assert (await lab.until(FAILED)).reason == "BadCommand"


async def test_it_runs_without_rights_with_bounded_logs_with_names_and_with_its_own_labels(lab: Lab) -> None:
    script = "cat /proc/self/status /etc/hosts; echo :$A:$TINKBOX_SERVER:$TINKBOX_HTTPS_SERVER:$(cat $TINKBOX_CA); exec tail -f /dev/null"
    wanted = lab.service(
        script,
        environment={"A": "b c", "TINKBOX_SERVER": "forged"},
        labels=(("a", "1"), ("a", "2")),
        ports=(9000,),
    )
    lab.host_link.want(replace(wanted, hosts={"w1.workflows.tinkbox.internal": "10.213.0.1"}))
    async with lab.hosting():
        standing = await lab.until(READY)
        await until(lambda: b"NoNewPrivs:\t1" in lab.host_link.printed.get("r1", b""))
        printed = lab.host_link.printed["r1"].decode()
        (shown,) = json.loads(lab.engine.cli("inspect", "tinkbox-r1").stdout)
    assert standing.ports == (9000,)
    assert "10.213.0.1\tw1.workflows.tinkbox.internal" in printed
    assert ":b c:http://10.213.0.1:https://10.213.0.1:PEM" in printed
    assert shown["Config"]["Labels"] == {
        "a": "2", "tinkbox.host": "h1", "tinkbox.run": "r1", "tinkbox.workflow": "w1", "tinkbox.service": "web",
    }  # fmt: skip
    assert not shown["HostConfig"]["Privileged"]
    assert shown["HostConfig"]["LogConfig"]["Config"] == {"max-size": str(64 << 20), "max-file": "2"}


async def test_what_it_writes_is_kept_and_gathered_when_asked_for(lab: Lab) -> None:
    lab.host_link.want(lab.service(UNTIL_TOLD.format("go") + "echo secret >/workflow/password; exec tail -f /dev/null"))
    folder = lab.place.folder / "r1" / "workflow"
    async with lab.hosting() as host:
        await lab.until(READY)
        (folder / "go").touch()
        await until(lambda: (folder / "password").exists() and (folder / "password").read_text() != "")
        await host.gather("w1")
        kept = {entry.path: entry.content for entry in decode(lab.host_link.data["r1"][-1])}
        assert kept == {"go": b"", "password": b"secret\n"}


async def test_too_much_data_is_said_and_what_was_kept_stays(lab: Lab) -> None:
    script = (
        "echo 1 >/workflow/a; "
        + UNTIL_TOLD.format("go")
        + "head -c 11000000 /dev/zero >/workflow/b; exec tail -f /dev/null"
    )
    kept = Entry(path="a", mode=0o644, content=b"1\n")
    lab.host_link.want(lab.service(script))
    async with lab.hosting():
        await lab.until(READY)
        await until(lambda: kept in decode(lab.host_link.data.get("r1", [b""])[-1]))
        (lab.place.folder / "r1" / "workflow" / "go").touch()
        await until(lambda: "b (11000000 bytes)" in lab.standing().message)
        assert lab.standing().reason == "DataTooLarge"
        assert lab.standing().phase is READY
        assert kept in decode(lab.host_link.data["r1"][-1])


async def test_who_writes_in_a_volume_leads_no_other_out_of_it(lab: Lab, tmp_path: Path) -> None:
    """One service swaps a folder of its volume for a link to the host's /, again and again; the other is started anew."""
    out, read, secret = tmp_path / "out", tmp_path / "read", tmp_path / "secret"
    for folder in (out, read, secret):
        folder.mkdir()
    (out / "mine").mkdir()
    (secret / "token").write_text("the operator's")
    lab.place = replace(
        lab.place, volumes={"out": HostFolder(path=str(out)), "in": HostFolder(path=str(read), read_only=True)}
    )
    swaps = f"while true; do rm -rf /out/mine; ln -s {secret} /out/mine; rm /out/mine; mkdir /out/mine; done"
    reads = "for try in 1 2 3 4 5 6 7 8 9; do cat /out/mine/token && touch /workflow/read; done; exit 1"
    lab.host_link.want(
        lab.service(swaps, volumes=("out:/out",)),
        lab.service(reads, run="r2", volumes=("out:/out:ro",)),
        lab.service(run="r3", volumes=(f"{out}/mine:/etc/host:ro",)),
        lab.service(
            "echo 1 >/in/x || echo 2 >/workflow/refused; exec tail -f /dev/null", run="r4", volumes=("in:/in",)
        ),
    )
    async with lab.hosting():
        await lab.until(READY)
        assert (await lab.until(FAILED, run="r3")).reason == "UnknownVolume"
        await lab.until(READY, run="r4")
        await until(lambda: (lab.place.folder / "r4" / "workflow" / "refused").exists())
        await until(lambda: lab.standing("r2").restarts > 0)
        assert not (lab.place.folder / "r2" / "workflow" / "read").exists()


async def test_a_container_that_an_earlier_release_made_leads_nowhere_either(lab: Lab, tmp_path: Path) -> None:
    """It mounts a folder below an opened one, which became a link before it is started again."""
    out, secret = tmp_path / "out", tmp_path / "secret"
    for folder in (out / "mine", secret):
        folder.mkdir(parents=True)
    (secret / "token").write_text("the operator's")
    wanted = lab.service("cat /mine/token >/workflow/read || rm /workflow/read; exit 1", volumes=(f"{out}/mine:/mine",))
    lab.host_link.want(wanted)
    RunFolder(lab.place.folder, "r1").make()
    labels = (f"tinkbox.host={lab.place.host}", "tinkbox.run=r1", "tinkbox.workflow=w1")
    await asyncio.to_thread(
        lab.engine.cli, "create", "--name", "tinkbox-r1", *(word for label in labels for word in ("--label", label)),
        "-v", f"{out}/mine:/mine", "-v", f"{lab.place.folder}/r1/workflow:/workflow",
        f"{lab.place.registry}/{IMAGE}", *wanted.service.spec.command,
    )  # fmt: skip
    (out / "mine").rmdir()
    (out / "mine").symlink_to(secret)
    async with lab.hosting():
        standing = await lab.until(FAILED)
    assert not (lab.place.folder / "r1" / "workflow" / "read").exists()
    assert standing.reason == "UnknownVolume"


async def test_a_service_on_the_appliance_cannot_take_all_of_it(lab: Lab) -> None:
    """It asks for more memory than it has, for as many processes as there can be, and for what only root may do."""
    usual = Resources(memory=32 << 20, cpus=0.5, pids=20)
    lab.place = replace(lab.place, share=Share(usual=usual, most=usual))
    many = "n=0; while [ $n -lt 100 ]; do sleep 100 & n=$((n+1)); done; exec sleep 100"
    rights = "cat /proc/self/status >/workflow/status; exec sleep 100"
    hog = "exec tail -c 500000000 /dev/zero"  # which keeps in memory what may be the end
    never = Restart(policy=RestartPolicy.NO, limit=0)
    lab.host_link.want(
        lab.service(many, restart=never), lab.service(hog, run="r2", restart=never), lab.service(rights, run="r3")
    )
    async with lab.hosting():
        assert "fork" in " ".join((await lab.until(FAILED)).tail).lower()
        # Docker forgets why now and then, its event as well: then it is said with a perhaps.
        assert "memory ran out" in (await lab.until(FAILED, run="r2")).message
        await lab.until(READY, run="r3")
        status = (lab.place.folder / "r3" / "workflow" / "status").read_text()
    (kept,) = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapBnd:")]
    assert kept == sum(
        1 << number for number in (0, 1, 3, 4, 5, 6, 7, 10)
    )  # capability.h, as `CAPABILITIES` names them
    assert "NoNewPrivs:\t1" in status


async def test_one_to_which_routes_lead_needs_a_port(lab: Lab) -> None:
    urls = ("http://w1.workflows.tinkbox.internal/files",)
    command = ("/bin/sleep", "100")
    bare = lab.service(image=BARE, urls=urls, command=command)
    named = lab.service(run="r2", image=BARE, urls=urls, command=command, ports=(80,))
    exposed = lab.service(run="r3", urls=urls)
    unrouted = lab.service(run="r4", image=BARE, command=command)
    lab.host_link.want(bare, named, exposed, unrouted)
    async with lab.hosting():
        assert (await lab.until(FAILED)).reason == "NoPort"
        for run in ("r2", "r3", "r4"):
            await lab.until(READY, run=run)


async def test_two_hosts_on_one_engine_do_not_touch_each_other(lab: Lab, tmp_path: Path) -> None:
    other = Lab(lab.engine, lab.network, lab.runtime, place_for(tmp_path, lab.place.registry, host="h2"))
    lab.host_link.want(lab.service(SERVE))
    other.host_link.want(other.service(run="r2", workflow_id="w2"))
    async with lab.hosting(), other.hosting():
        await lab.until(READY)
        await other.until(READY, run="r2")
        lab.host_link.want()
        await lab.until_nothing_is_left()
        await asyncio.sleep(1)
        assert other.standing("r2").phase is READY
        assert (len(other.containers()), len(other.networks())) == (1, 1)


async def test_without_subnets_it_has_the_machines_network(lab: Lab) -> None:
    lab.place = replace(lab.place, subnets=None, address="127.0.0.1")
    lab.host_link.want(lab.service(SERVE))
    async with lab.hosting():
        assert (await lab.until(READY)).address == "127.0.0.1"
        assert await lab.fetch(8080) == b"web of w1\n"
        assert lab.networks() == []


async def test_when_all_subnets_are_taken_it_fails(lab: Lab) -> None:
    lab.place = replace(lab.place, subnets=next(lab.place.subnets.subnets(new_prefix=28)))  # type: ignore[union-attr]
    lab.host_link.want(lab.service(), lab.service(run="r2", workflow_id="w2"))
    async with lab.hosting():
        await lab.until(READY, FAILED)
        await lab.until(READY, FAILED, run="r2")
        phases = {lab.standing("r1").phase: lab.standing("r1"), lab.standing("r2").phase: lab.standing("r2")}
        assert phases[FAILED].reason == "NetworkFailed"
        assert READY in phases


async def test_memory_that_runs_out_is_named(lab: Lab) -> None:
    eat = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"
    lab.host_link.want(lab.service(eat, restart=Restart(policy=RestartPolicy.NO)))
    with lab.engine.short_of_memory(64 << 20):
        async with lab.hosting():
            assert "memory ran out" in (await lab.until(FAILED)).message
