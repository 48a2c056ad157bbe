from tests.integration.store.objects import NOW
from tinkbox.store.database import Store, Tables


async def test_events_are_numbered_per_workflow_and_over_everything(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        for identity in ("w1", "w2", "w1"):
            tables.events.add(identity, NOW, f"of {identity}", {"k": [1]})

    await store.write(use_case)
    first = await store.read(lambda tables: tables.events.of("w1"))
    whole = await store.read(lambda tables: tables.events.after(1, 10))
    assert await store.read(lambda tables: tables.events.newest()) == 3
    assert [(each.number, each.kind, each.data) for each in first] == [
        (1, "of w1", {"k": [1]}),
        (2, "of w1", {"k": [1]}),
    ]
    assert [(sequence, each.workflow_id, each.number) for sequence, each in whole] == [(2, "w2", 1), (3, "w1", 2)]
