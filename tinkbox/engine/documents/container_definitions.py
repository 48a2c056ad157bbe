"""What a template says of any container of its, be it an action or a service."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from posixpath import normpath

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.model.duration import parse_duration, show_duration
from tinkbox.model.errors import Invalid
from tinkbox.model.image import parse_reference
from tinkbox.model.template import MAX_NAME, OTHER_WORDS
from tinkbox.yaml_nodes import NodeReader, is_null, path

_VOLUME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


class ContainerReader(NodeReader):
    """Reads the keys that actions and services have in common."""

    def unknown(self, node: ScalarNode, key: str, known: Sequence[str]) -> None:
        other = OTHER_WORDS.get(node.value)
        if other in known:
            self.refuse(node, path(key, node.value), f"unknown key {node.value}; here it is {other}")
        else:
            super().unknown(node, key, known)

    def name(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        name = self.text(fields, "name", key)
        if isinstance(node, MappingNode) and not 0 < len(name.encode()) < MAX_NAME:
            text = f"name cannot be empty or have more than {MAX_NAME - 1} characters"
            self.refuse(fields.get("name", node), path(key, "name"), text)
        return name

    def unique(self, names: Sequence[str], node: Node | None, key: str, text: str) -> None:
        """Refuse the second of those in a list that have the same name."""
        places: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            places.setdefault(name, []).append(place)
        for name, found in places.items():
            if name and len(found) > 1:
                assert isinstance(node, SequenceNode)
                self.refuse(node.value[found[1]], key, f"{text}: {name}")

    def worker(self, fields: Mapping[str, Node], node: Node, key: str, needed: str) -> str:
        worker = self.text(fields, "worker", key)
        if not worker and isinstance(node, MappingNode):
            self.refuse(fields.get("worker", node), path(key, "worker"), needed)
        return worker

    def image(self, fields: Mapping[str, Node], node: Node, key: str) -> str:
        image = self.text(fields, "image", key)
        if isinstance(node, MappingNode):
            try:
                parse_reference(image)
            except Invalid as error:
                self.refuse(fields.get("image", node), path(key, "image"), str(error))
        return image

    def command(self, fields: Mapping[str, Node], key: str, name: str = "command") -> tuple[str, ...]:
        return self.texts(fields, name, key, 'of words, such as ["sh", "-c", {!r}]')

    def texts(self, fields: Mapping[str, Node], name: str, key: str, such: str = "such as [{!r}]") -> tuple[str, ...]:
        """A list of texts; `such` says how to make one of a single text."""
        node = fields.get(name)
        if isinstance(node, ScalarNode) and not is_null(node):
            self.refuse(node, path(key, name), f"expected a list {such.format(node.value[:40])}")
            return ()
        return self.items(node, path(key, name), self.scalar)

    def environment(self, fields: Mapping[str, Node], key: str) -> dict[str, str]:
        node, place = fields.get("environment"), path(key, "environment")
        if node is None or is_null(node):
            return {}
        if not isinstance(node, MappingNode):
            self.refuse(node, place, "expected names with values")
            return {}
        return {name.value: self.scalar(value, path(place, name.value)) for name, value in self.pairs(node, place)}

    def volumes(self, fields: Mapping[str, Node], key: str, *, named: bool = False) -> tuple[str, ...]:
        """`named` tells whether a volume may be a name instead of a folder of the host."""
        volumes = self.texts(fields, "volumes", key)
        for volume in volumes:
            source, _, target = volume.partition(":")
            if not (source.startswith("/") or (named and _VOLUME.fullmatch(source))) or not target.startswith("/"):
                text = f"{volume!r}: expected /host/path:/container/path[:ro]{', or NAME:/container/path' if named else ''}"
                self.refuse(fields["volumes"], path(key, "volumes"), text)
        return volumes

    def duration(
        self, fields: Mapping[str, Node], name: str, key: str, *, absent: int = 0, least: int = 0, most: int
    ) -> int:
        """The seconds that `90s`, `1h30m` or a plain number mean."""
        text = self.text(fields, name, key)
        try:
            seconds = parse_duration(text) if text else absent
        except Invalid as error:
            self.refuse(fields[name], path(key, name), str(error))
            return absent
        if not least <= seconds <= most:
            expected = f"expected {show_duration(least)} to {show_duration(most)}, not {text[:40]}"
            self.refuse(fields[name], path(key, name), expected)
        return seconds


def volume_parts(volume: str) -> tuple[str, PurePosixPath, str]:
    """Where it comes from as it is written, the container's folder in its shortest form, and how it is mounted."""
    source, _, rest = volume.partition(":")
    target, _, mode = rest.partition(":")
    # To POSIX two slashes at the beginning mean something else than one; to a container's mounts they do not.
    return source, PurePosixPath(normpath(f"/{target.lstrip('/')}")), mode
