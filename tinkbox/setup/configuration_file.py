"""A configuration file that a person wrote, with a few of its keys changed and every other line as it was.  Pure."""

import json
from collections.abc import Mapping
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node

from tinkbox.model.errors import Invalid


def with_keys(text: str, wanted: Mapping[str, str | None]) -> str:
    """The text with these keys, such as `dhcp.mode`; None removes a key.  Comments stay.

    The text is valid YAML with keys at its top.  Raises Invalid where a key is written in a way that cannot be changed
    without changing anything else, such as an alias.
    """
    for key, value in wanted.items():
        section, _, name = key.rpartition(".")
        try:
            expected = _expected(yaml.safe_load(text) or {}, section, name, value)
            changed = _changed(text, section, name, value)
            fits = _without_empty(yaml.safe_load(changed) or {}) == _without_empty(expected)
        except yaml.YAMLError:
            fits = False
        if not fits:
            what = f"write `{key}: {value}`" if value is not None else f"leave {key} out"
            raise Invalid(f"the file writes {key} in a way that init cannot change: {what} yourself, then init again")
        text = changed
    return text


def scalar(value: str) -> str:
    """As YAML reads it as this text: `on` and what has a `#` in it need quotes."""
    try:
        plain = yaml.safe_load(f"[{value}]") == [value]
    except yaml.YAMLError:
        plain = False
    return value if plain else json.dumps(value, ensure_ascii=False)


def _expected(document: dict[str, Any], section: str, name: str, value: str | None) -> dict[str, Any]:
    inner = dict(document.get(section) or {}) if section else document
    if value is None:
        inner.pop(name, None)
    else:
        inner[name] = value
    return {**document, section: inner} if section else inner


def _without_empty(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value not in (None, {})}


def _changed(text: str, section: str, name: str, value: str | None) -> str:
    root = yaml.compose(text, yaml.SafeLoader)
    line = None if value is None else f"{name}: {scalar(value)}"
    if not section:
        return _in_mapping(text, root, name, value, line)
    key, inner = _entry(root, section)
    if inner is None or key is None:
        return text if line is None else _appended(text, f"{section}:\n  {line}\n")
    if isinstance(inner, MappingNode):
        return _in_flow(text, inner, name, line) if inner.flow_style else _in_mapping(text, inner, name, value, line)
    return text if line is None else _inserted(text, _line_end(text, key.end_mark.index), f"  {line}\n")


def _in_mapping(text: str, mapping: Node | None, name: str, value: str | None, line: str | None) -> str:
    key, node = _entry(mapping, name)
    if key is None or node is None:
        if line is None:
            return text
        if mapping is None or mapping.start_mark.column == 0:
            return _appended(text, f"{line}\n")
        indent = mapping.start_mark.column
        return _inserted(text, mapping.start_mark.index - indent, f"{' ' * indent}{line}\n")
    start, end = node.start_mark.index, _end(node)
    if value is None:
        return text[: key.start_mark.index - key.start_mark.column] + text[_line_end(text, end) :]
    if start == end or (isinstance(node, CollectionNode) and not node.flow_style):
        # Nothing at all, or a block on the lines below.
        start = text.index(":", key.end_mark.index) + 1
        return f"{text[:start]} {scalar(value)}{text[max(start, end) :]}"
    return text[:start] + scalar(value) + text[end:]


def _in_flow(text: str, mapping: MappingNode, name: str, line: str | None) -> str:
    parts = {key.value: text[key.start_mark.index : _end(value)] for key, value in mapping.value}
    parts.pop(name, None)
    lines = [*([] if line is None else [line]), *parts.values()]
    return f"{text[: mapping.start_mark.index]}{{{', '.join(lines)}}}{text[mapping.end_mark.index :]}"


def _entry(mapping: Node | None, name: str) -> tuple[Node | None, Node | None]:
    pairs = mapping.value if isinstance(mapping, MappingNode) else ()
    return next(((key, value) for key, value in pairs if key.value == name), (None, None))


def _end(node: Node) -> int:
    """Where it ends; a block ends, for YAML, only where the next key begins, after comments."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _line_end(text: str, at: int) -> int:
    """Behind the line break; a text without a last one ends there."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _appended(text: str, lines: str) -> str:
    return _inserted(text, len(text), lines)


def _inserted(text: str, at: int, lines: str) -> str:
    broken = "\n" if at and text[at - 1] != "\n" else ""
    return text[:at] + broken + lines + text[at:]
