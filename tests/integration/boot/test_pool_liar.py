"""A host on the link that answers ARP for every address of the pool: known machines boot all the same, and it is named."""

from pathlib import Path

from tests.integration.boot.pools import lab_of, mac
from tests.integration.cli.serving import run_here


def test_a_host_that_answers_for_a_whole_pool_does_not_empty_it_and_is_named(tmp_path: Path) -> None:
    with lab_of(tmp_path, machines=2) as lab:
        machine, liar = lab.machines
        liar.ip("address add 172.30.0.66/24 dev eth0")
        liar.ip("route add local 172.30.0.96/28 dev eth0")
        lab.pool.knows(mac(1))
        assert machine.udhcpc("eth0", tmp_path).stdout.split()[0] == "172.30.0.102"
        states = [each["state"] for each in lab.pool.leases().values()]
        assert states == ["bound"], "the last of the machine's, by MAC"
        told = f"One host answered for 3 of the 10 addresses of the pool of 172.30.0.0/24 in the last 10 minutes: {mac(2)}."
        assert told in " ".join(run_here("--data", str(lab.pool.data), "doctor").out.split())
        assert f"limit arp_answers: 3 addresses of 10 addresses: {mac(2)} (3 addresses, refused 1 time)" in " ".join(
            lab.pool.say("status").split()
        )
        assert f"one host, {mac(2)}, answers for 3 addresses of the pool of 172.30.0.0/24" in lab.pool.log()
