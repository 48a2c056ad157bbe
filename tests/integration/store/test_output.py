from tests.integration.store.objects import attempt, service, workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.output import HEAD, TAIL, Piece


async def test_what_comes_twice_is_skipped_and_a_gap_is_not_taken(one: Store) -> None:
    async def append(offset: int, chunk: bytes) -> int:
        def use_case(tables: Tables) -> int:
            found = tables.workflows.attempt("a1")
            assert found is not None
            return tables.output.append("a1", found.output_length, offset, chunk)

        return await one.write(use_case)

    assert [await append(0, b"ab"), await append(0, b"abc"), await append(3, b""), await append(4, b"e")] == [
        2,
        3,
        3,
        3,
    ]
    assert [await append(3, b"d"), await append(1, b"x")] == [4, 4]
    assert await one.read(lambda tables: b"".join(piece.chunk for piece in tables.output.after("a1", 0))) == b"abcd"


async def test_services_print_for_themselves(store: Store) -> None:
    def use_case(tables: Tables) -> None:
        tables.workflows.insert(workflow("w1", "m1", services=[service("a1"), service("r1", 1)]))
        tables.workflows.begin_attempt(attempt("a1"))
        assert tables.service_output.append("a1", 0, 0, b"of the service") == 14
        assert tables.output.append("a1", 0, 0, b"of the action") == 13

    await store.write(use_case)
    assert await store.read(lambda tables: tables.service_output.after("a1", 7)) == [Piece(start=7, chunk=b"service")]
    assert await store.read(lambda tables: tables.service_output.last("a1")) == b"of the service"
    assert await store.read(lambda tables: tables.service_output.after("r1", 0)) == []
    assert await store.read(lambda tables: tables.output.last("a1")) == b"of the action"
    (first, second) = (await store.read(lambda tables: tables.workflows.get("w1"))).services
    assert (first.output_length, second.output_length) == (14, 0)
    await store.write(lambda tables: tables.workflows.delete("w1"))
    assert await store.read(lambda tables: tables.service_output.after("a1", 0)) == []


async def test_output_is_read_from_any_offset_and_its_middle_is_dropped(one: Store) -> None:
    chunk, length = b"x" * (64 * 1024), 0
    while length < HEAD + TAIL + 10 * len(chunk):
        length = await one.write(lambda tables, length=length: tables.output.append("a1", length, length, chunk))
    await one.write(lambda tables: tables.output.append("a1", length, length, b"end"))
    pieces = await one.read(lambda tables: tables.output.after("a1", 0))
    assert await one.read(lambda tables: tables.output.after("a1", length + 1)) == [
        Piece(start=length + 1, chunk=b"nd")
    ]
    assert await one.read(lambda tables: tables.output.after("a1", length + 3)) == []
    assert await one.read(lambda tables: tables.output.last("a1")) == b"end"
    stored = await one.read(lambda tables: tables.workflows.attempt("a1"))
    starts = [piece.start for piece in pieces]
    assert starts[0] == 0
    assert HEAD - len(chunk) in starts
    assert HEAD not in starts
    assert stored is not None
    assert stored.output_length == length + 3
