"""Which workflow is shown for each machine, found without a look at what workflows are made of."""

from pathlib import Path

import pytest

from tests.integration.store.stores import opened_store
from tinkbox.model.listing import WorkflowListing
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
    tables = [each for each in steps if any(f" {name} " in each for name in ("action", "workflow", "hardware"))]
    assert len(tables) == 3, steps
    assert all("COVERING INDEX" in each for each in tables), steps


async def test_lists_look_only_at_those_of_the_workflows_that_are_being_deleted(tmp_path: Path) -> None:
    asked: list[str] = []

    def plan(tables: Tables) -> list[str]:
        sql = tables.workflows._sql
        sql.set_trace_callback(asked.append)
        tables.workflows.listed_ids(WorkflowListing())
        tables.workflow_names.newest("", 5)
        sql.set_trace_callback(None)
        return [row["detail"] for each in asked for row in sql.execute(f"EXPLAIN QUERY PLAN {each}").fetchall()]

    async with opened_store(tmp_path / "db") as store:
        steps = await store.read(plan)
    assert [each for each in steps if "workflow_that_goes" in each] == [
        "SCAN workflow USING INDEX workflow_that_goes"
    ] * 2
    assert not [each for each in steps if "workflow_standing" in each], steps
