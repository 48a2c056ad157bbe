"""A machine's board is replaced, with its TPM: it gets nothing until a person accepts the new one, then it goes on by itself."""

import re
from pathlib import Path

import pytest

from tests.machine.lab import laboratory, mac, shell, until
from tests.tpm import chip, machine_tpm
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = [pytest.mark.machine, pytest.mark.campaign]
ONE = 1


def test_machine_with_another_tpm_works_once_it_is_accepted(shell_archive: Path, tmp_path: Path) -> None:
    control = tmp_path / "control"
    with laboratory() as lab:
        lab.load(shell_archive)
        lab.push(ONE)
        machine = lab.machine(ONE, extra=chip(control))
        with machine_tpm(tmp_path / "first", control):
            first = lab.workflow(ONE, shell("first", "true"))
            machine.power_on()
            assert lab.ended(first).state is State.SUCCESS
            machine.power_off()
        document = lab.json("hardware", "get", mac(ONE))
        own = document["tpm"]["accepted"]
        assert re.fullmatch(r"[0-9a-f]{64}", own)
        assert lab.appliance.command("hardware", "tpm", mac(ONE)).count(own) == 2
        with machine_tpm(tmp_path / "second", control):
            second = lab.workflow(ONE, shell("second", "true"))
            machine.power_on()
            until(lambda: Stage.TICKET_REFUSED in lab.stages(ONE), "the other TPM to be refused")
            (told,) = [each for each in lab.appliance.doctor(mac(ONE)) if each["rule"] == "TicketRefused"]
            assert lab.state(second).state is State.PENDING
            assert "another TPM" in told["cause"]
            command = re.search(r"`tinkbox (hardware tpm \S+ --accept [0-9a-f]{64})`", told["remedy"])
            assert command, told["remedy"]
            lab.appliance.command(*command[1].split())
            assert lab.ended(second).state is State.SUCCESS
            assert lab.stages(ONE).count(Stage.KERNEL) == len((first, second))
            machine.power_off()
