from tinkbox.store.database import Store
from tinkbox.store.output import HEAD, TAIL, Piece


async def test_output_is_read_from_any_offset_and_its_middle_is_dropped(one: Store) -> None:
    chunk, length = b"x" * (64 * 1024), 0
    while length < HEAD + TAIL + 10 * len(chunk):
        length = await one.write(lambda tables, length=length: tables.output.append("a1", length, length, chunk))
    await one.write(lambda tables: tables.output.append("a1", length, length, b"end"))
    async with one.read() as tables:
        pieces = await tables.output.after("a1", 0)
        assert await tables.output.after("a1", length + 1) == [Piece(start=length + 1, chunk=b"nd")]
        assert await tables.output.after("a1", length + 3) == []
        assert await tables.output.last("a1") == b"end"
        stored = await tables.workflows.attempt("a1")
    starts = [piece.start for piece in pieces]
    assert starts[0] == 0
    assert HEAD - len(chunk) in starts
    assert HEAD not in starts
    assert stored is not None
    assert stored.output_length == length + 3
