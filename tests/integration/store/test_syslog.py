"""Lines that machines said, as stored."""

from dataclasses import replace

from tests.integration.engine.appliance import mac
from tests.integration.store.objects import NOW
from tinkbox.model.sightings import Line
from tinkbox.store.database import Store
from tinkbox.store.syslog import KEPT_LINES

LINE = Line(mac=mac(1), at=NOW, severity=6, program="kernel", text="Linux version 6.1")


async def test_lines_come_back_as_they_were_saved_the_newest_of_them(store: Store) -> None:
    lines = {number: replace(LINE, text=str(number), mac=mac(1 + number % 2)) for number in range(1, 7)}
    assert await store.read(lambda tables: tables.syslog.last_number()) == 0
    await store.write(lambda tables: tables.syslog.save(lines))
    assert await store.read(lambda tables: tables.syslog.of([mac(1), mac(2)], 99)) == lines
    assert list(await store.read(lambda tables: tables.syslog.of([mac(1)], 2))) == [4, 6]
    assert await store.read(lambda tables: tables.syslog.last_number()) == 6


async def test_only_the_newest_of_each_machine_are_kept_and_what_is_forgotten_is_gone(store: Store) -> None:
    lines = dict.fromkeys(range(2, KEPT_LINES + 12), LINE)
    await store.write(lambda tables: tables.syslog.save({1: replace(LINE, mac=mac(2))}))
    await store.write(lambda tables: tables.syslog.save(lines))
    assert list(await store.read(lambda tables: tables.syslog.of([mac(1)], 9_999))) == list(lines)[10:]
    await store.write(lambda tables: tables.syslog.forget([mac(1)]))
    assert list(await store.read(lambda tables: tables.syslog.of([mac(1), mac(2)], 9))) == [1]
