"""What a template says of the systems that it installs: its root key `metadata`."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode

from tinkbox.engine.documents.user_data import misreadings, unfit
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.metadata import MAX_KEYS, MAX_USER_DATA, Metadata, ssh_key_problem
from tinkbox.model.template import METADATA_KEYS
from tinkbox.yaml_nodes import NodeReader, compose, is_null, line_of, path

_HOSTNAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}))*\Z")
_VERSIONS = (1, 2)


class MetadataReader(NodeReader):
    """Reads the key `metadata` of a template."""

    def metadata(self, node: Node | None) -> Metadata:
        """What it says; what is wrong with it is among the problems afterwards."""
        if node is None or is_null(node):
            return Metadata()
        fields = self.fields(node, "metadata", METADATA_KEYS)
        return Metadata(
            hostname=self._hostname(fields),
            ssh_keys=self._ssh_keys(fields.get("ssh_keys")),
            user_data=self._data(fields, "user_data"),
            vendor_data=self._data(fields, "vendor_data"),
            network=self._network(fields.get("network")),
        )

    def _hostname(self, fields: Mapping[str, Node]) -> str:
        name = self.text(fields, "hostname", "metadata")
        if name and not _HOSTNAME.match(name):
            text = f"expected a host name of letters, digits, hyphens and dots, not {name[:40]!r}"
            self.refuse(fields["hostname"], "metadata.hostname", text)
            return ""
        return name

    def _ssh_keys(self, node: Node | None) -> tuple[str, ...]:
        key = "metadata.ssh_keys"
        if isinstance(node, ScalarNode) and not is_null(node):
            self.refuse(node, key, f"expected a list such as [{node.value[:40]!r}]")
            return ()

        def ssh_key(node: Node, key: str) -> str:
            text = self.scalar(node, key).strip()
            if text and (problem := ssh_key_problem(text)):
                self.refuse(node, key, problem)
            return text

        found = tuple(filter(None, self.items(node, key, ssh_key)))
        if node is not None and len(found) > MAX_KEYS:
            self.refuse(node, key, f"at most {MAX_KEYS} keys, not {len(found)}")
        return tuple(dict.fromkeys(found))

    def _data(self, fields: Mapping[str, Node], name: str) -> str:
        """A text for cloud-init; the problems in it are told by the lines of the template, where its lines are its own."""
        text = self.text(fields, name, "metadata")
        if not text:
            return ""
        node = fields[name]
        key = path("metadata", name)
        if len(text.encode(errors="replace")) > MAX_USER_DATA:
            self.refuse(node, key, f"at most {MAX_USER_DATA >> 10} KiB")
            return ""
        # A block begins in the line behind its key.
        before = line_of(node) if isinstance(node, ScalarNode) and node.style == "|" else 0
        wrong = unfit(text)
        kept = self.problems if wrong else self.ignored
        for each in wrong or misreadings(text):
            line = line_of(node) if not before or each.line is None else before + each.line
            kept.append(Problem(line=line, key=path(key, each.key) if each.key else key, text=each.text))
        return text

    def _network(self, node: Node | None) -> Mapping[str, Any]:
        """A network-config as keys with values, or as text of such."""
        key = "metadata.network"
        if node is None or is_null(node):
            return {}
        if isinstance(node, ScalarNode):
            if not str(node.value).strip():
                return {}
            try:
                documents = compose(str(node.value))
            except Invalid as error:
                self._told(node, key, error.problems)
                return {}
            inner = documents[0] if documents else None
        else:
            inner = node
        if not isinstance(inner, MappingNode):
            self.refuse(node, key, "expected a network-config: keys with values, version among them")
            return {}
        found = self.plain(inner, key)
        if set(found) == {"network"} and isinstance(found["network"], dict):
            found = found["network"]  # as it stands in user-data, where cloud-init does not look for it
        if found.get("version") not in _VERSIONS:
            self.refuse(node, key, f"expected version: 1 or version: 2, not {str(found.get('version'))[:20]!r}")
            return {}
        if len(json.dumps(found)) > MAX_USER_DATA:
            self.refuse(node, key, f"at most {MAX_USER_DATA >> 10} KiB")
            return {}
        return dict(found)

    def _told(self, node: Node, key: str, problems: Sequence[Problem]) -> None:
        for each in problems:
            where = f" (its line {each.line})" if each.line else ""
            self.refuse(node, key, f"{each.text}{where}")
