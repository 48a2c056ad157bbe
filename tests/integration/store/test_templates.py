"""Templates by name, id and beginning of an id."""

from datetime import UTC, datetime, timedelta

from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import Template

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def template(identity: str, name: str, seconds: int = 0) -> Template:
    at = NOW + timedelta(seconds=seconds)
    return Template(id=identity, name=name, data="text", created_at=at, updated_at=at)


async def test_an_exact_name_or_id_beats_a_beginning(store: Store) -> None:
    async def use_case(tables: Tables) -> None:
        await tables.templates.put(template("aa-1", "first"))
        await tables.templates.put(template("aa-2", "aa", 1))
        await tables.templates.put(template("ab-3", "third", 2))

    await store.write(use_case)
    async with store.read() as tables:
        found = {
            key: [each.id for each in await tables.templates.matching(key)] for key in ("aa", "aa-1", "a", "third", "x")
        }
        assert [each.id for each in await tables.templates.all()] == ["aa-1", "aa-2", "ab-3"]
    assert found == {"aa": ["aa-2"], "aa-1": ["aa-1"], "a": ["aa-1", "aa-2", "ab-3"], "third": ["ab-3"], "x": []}


async def test_what_was_put_comes_back_the_same_and_can_be_replaced_and_deleted(store: Store) -> None:
    old, new = template("1", "name"), template("1", "other")

    async def once(tables: Tables) -> None:
        await tables.templates.put(old)
        assert await tables.templates.matching("1") == [old]
        await tables.templates.put(new)
        assert await tables.templates.all() == [new]
        await tables.templates.delete("1")
        assert await tables.templates.all() == []

    await store.write(once)
