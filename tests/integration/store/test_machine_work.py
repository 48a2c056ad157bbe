"""Which workflow is shown for each machine, found without a look at what workflows are made of."""

from pathlib import Path

import pytest

from tests.integration.store.stores import opened_store
from tinkbox.store.database import Tables
from tinkbox.store.machine_work import _OF_ALL, _OF_SOME


@pytest.mark.parametrize(("question", "values"), [(_OF_ALL, ()), (_OF_SOME, ('["a"]',))])
async def test_rows_with_the_rendered_templates_are_not_read(
    tmp_path: Path, question: str, values: tuple[str, ...]
) -> None:
    def plan(tables: Tables) -> list[str]:
        rows = tables.machine_work._sql.execute(f"EXPLAIN QUERY PLAN {question}", values).fetchall()
        return [row["detail"] for row in rows]

    async with opened_store(tmp_path / "db") as store:
        steps = await store.read(plan)
    tables = [each for each in steps if " action" in each or " workflow" in each]
    assert len(tables) == 2
    assert all("COVERING INDEX" in each for each in tables), steps
