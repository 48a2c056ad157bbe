"""`tinkbox hardware https`: whether a machine boots by HTTPS alone, and the way back."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

from tests.integration.cli.serving import configure, run, serving
from tests.integration.engine.appliance import hardware, mac
from tinkbox.model.enrolment import Enrolment
from tinkbox.store.database import Store

OWN = "ab" * 32


def enrol(path: Path, hardware_id: str) -> None:
    """As the worker of a machine has it done."""

    async def stored() -> None:
        store = await Store.open(path)
        enrolment = Enrolment(hardware_id=hardware_id, authority=OWN, at=datetime.now(UTC))
        async with asyncio.TaskGroup() as group:
            writer = group.create_task(store.run())
            assert await store.write(lambda tables: tables.enrolments.put(enrolment))
            writer.cancel()
        await store.close()

    asyncio.run(stored())


def test_it_is_shown_and_taken_back(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    local = ("--data", str(configuration.data), "hardware")
    document = tmp_path / "hardware.json"
    document.write_text(json.dumps(hardware(1)))
    with serving(configuration):
        assert run(*local, "push", "--file", str(document)).status == 0
        assert "plain" in run(*local, "https", mac(1)).out
    enrol(configuration.data / "tinkbox.sqlite", hardware(1)["id"])
    with serving(configuration):
        shown = run(*local, "https", mac(1)).out
        assert "enrolled" in shown
        assert OWN in shown
        assert "HTTPS alone" in run(*local, "get", mac(1)).out
        assert "plain" in run(*local, "https", mac(1), "--forget").out
        assert "HTTPS alone" not in run(*local, "get", mac(1)).out
        assert "a person decided how it boots" in run(*local, "get", mac(1)).out
