"""docs/images.md against the program."""

import re
from pathlib import Path

from tinkbox.catalogue.entries import Listing
from tinkbox.catalogue.reading import ENTRY_KEYS, RESOLVERS, read_catalogue

TEXT = (Path(__file__).parents[3] / "docs" / "images.md").read_text()


def table(first: str) -> dict[str, str]:
    """The rows of the table whose first heading is this: what stands first, with the rest."""
    rows = re.search(rf"^\| {first} \|.*\n\|[-| ]+\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert rows is not None
    return {row.split("|")[1].strip(): row for row in rows[1].splitlines()}


def test_the_example_of_an_own_entry_is_one() -> None:
    (example,) = re.findall(r"```yaml\n(# /etc/tinkbox/catalogue\.d/.*?)```", TEXT, re.DOTALL)
    entries = read_catalogue(example, "docs").entries
    assert list(entries) == ["lab-debian", "lab-debian-aarch64"]
    assert isinstance(entries["lab-debian"].resolver, Listing)


def test_every_key_of_an_entry_is_documented() -> None:
    shown = {key.strip(" `") for cell in table("key") for key in cell.split(",")}
    assert shown == set(ENTRY_KEYS)


def test_every_resolver_is_documented_with_its_keys() -> None:
    shown = table("`kind`")
    assert {each.strip("`") for each in shown} == set(RESOLVERS)
    for kind, (needed, optional) in RESOLVERS.items():
        missing = [key for key in (*needed, *optional) if f"`{key}`" not in shown[f"`{kind}`"]]
        assert not missing, f"docs/images.md says nothing of {kind}'s {missing}"
