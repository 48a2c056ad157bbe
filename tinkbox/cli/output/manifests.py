"""Documents as YAML that people keep in Git, and that says the same when it is read again."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tinkbox.model.text import is_clean_block

Manifest = Mapping[str, Any]
# What a reader may take for a number although it was text.
_LIKE_A_NUMBER: Final = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?\Z")


def yaml_documents(manifests: Iterable[Manifest]) -> str:
    """One document behind the other; text of several lines is a block."""
    return "---\n".join(map(yaml_document, manifests))


def yaml_document(manifest: Manifest) -> str:
    """Letters of any language as they are, or all of them escaped where one could steer a terminal."""
    readable = _dumped(manifest, unicode=True)
    if is_clean_block(readable):
        return readable
    return _dumped(manifest, unicode=False)


def difference(name: str, old: Manifest | None, new: Manifest | None) -> str:
    """A unified diff of two documents of `name`, as `diff -u` prints it; None is one that is not there."""
    before, after = (yaml_document(each).splitlines(keepends=True) if each is not None else [] for each in (old, new))
    return "".join(
        difflib.unified_diff(
            before,
            after,
            f"a/{name}" if old is not None else "/dev/null",
            f"b/{name}" if new is not None else "/dev/null",
        )
    )


def _dumped(manifest: Manifest, *, unicode: bool) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Text of several lines as blocks, no anchors."""

        def ignore_aliases(self, _: Any) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else "'" if _LIKE_A_NUMBER.match(value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    plain = json.loads(json.dumps(manifest))  # yaml writes a dict, and nothing that is derived from it
    return str(yaml.dump(plain, Dumper=Dumper, sort_keys=False, allow_unicode=unicode, width=2**16))
