"""The reference of all settings, for docs/operating.md and tinkbox.yaml(5)."""

from tinkbox.settings.all_settings import Settings
from tinkbox.settings.declaring import Row, keys_of


def markdown() -> str:
    """A table of all keys: those at the top of the file first, then section by section."""
    lines = [f"| `{each.key}` | {_default(each)} | {each.takes} | {each.help_text} |" for each in rows()]
    return "\n".join(["| key | default | takes | meaning |", "|---|---|---|---|", *lines])


def rows() -> list[Row]:
    """All keys in this order."""
    return sorted(keys_of(Settings).rows(""), key=lambda row: "." in row.key)


def _default(row: Row) -> str:
    return f"`{row.default}`" if row.default else ""
