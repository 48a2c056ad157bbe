"""Templates by name, id and beginning of an id."""

from datetime import UTC, datetime, timedelta

from tinkbox.model.keys import meant
from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import ListedTemplate, Template

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def template(identity: str, name: str, seconds: int = 0) -> Template:
    at = NOW + timedelta(seconds=seconds)
    return Template(id=identity, name=name, data="text", created_at=at, updated_at=at)


async def test_an_exact_name_or_id_beats_a_beginning(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.templates.put(template("aaaa-1", "first"))
        tables.templates.put(template("aaaa-2", "aaaa-", 1))
        tables.templates.put(template("aaab-3", "third", 2))

    await store.write(use_case)
    found = await store.read(
        lambda tables: {
            key: [each.id for each in meant(tables.templates, key)]
            for key in ("aaaa-", "aaaa-1", "aaaa", "aaa", "third", "x")
        }
    )
    assert await store.read(lambda tables: [each.id for each in tables.templates.all()]) == [
        "aaaa-1",
        "aaaa-2",
        "aaab-3",
    ]
    assert found == {
        "aaaa-": ["aaaa-2"],
        "aaaa-1": ["aaaa-1"],
        "aaaa": ["aaaa-1", "aaaa-2"],
        "aaa": [],  # too few letters for an id
        "third": ["aaab-3"],
        "x": [],
    }


async def test_what_was_put_comes_back_the_same_and_can_be_replaced_and_deleted(store: Store) -> None:
    old, new = template("1", "name"), template("1", "other")

    def once(tables: Tables) -> None:
        tables.templates.put(old)
        assert tables.templates.having("1") == [old]
        tables.templates.put(new)
        assert tables.templates.having("1") == [new]
        assert tables.templates.all() == [ListedTemplate(id="1", name="other", created_at=NOW, updated_at=NOW)]
        tables.templates.delete("1")
        assert tables.templates.all() == []

    await store.write(once)
