"""What the labels and urls of a service say: its routes, after Traefik's labels (proposal 0015), and tinkbox's own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.spelling import meant
from tinkbox.wire.routing import label_names as names
from tinkbox.wire.routing.paths import AddPrefix, Rewrite, StripPrefix
from tinkbox.wire.routing.rules import Rule, parse_rule, united
from tinkbox.wire.routing.service_urls import BOOT_PATH, boot_path, boot_script, rule_of

__all__ = ["BOOT_PATH", "Labels", "Route", "read_labels"]

T = TypeVar("T")
MAX_SHOWN: Final = 60
MAX_PORT: Final = 65_535
MAX_PRIORITY: Final = 2**63 - 1001  # as in Traefik
NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
PREFIX: Final = re.compile(r"/[^\x00-\x20\x7f?#]*")
FLAGS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Requests that a rule picks out, and the port they go to; None: the service's first.

    Of several routes that match the one with the highest `priority` counts, which is the length of the rule unless a
    label says otherwise.  `rewrites` are applied to the path one after the other.
    """

    name: str
    rule: Rule
    priority: int
    port: int | None = None
    rewrites: tuple[Rewrite, ...] = ()

    def rewritten(self, path: str) -> tuple[str, str]:
        """What the service gets to see of a path, and what was stripped off it, for X-Forwarded-Prefix.

        The path may be as it was sent, percent-encoded; what is left of it stays as it was.  Several prefixes that were
        stripped are joined by `, `.  Dot segments are nobody's business here: `/api` stripped off `/api../x` leaves `/../x`.
        """
        stripped: list[str] = []
        for rewrite in self.rewrites:
            path, prefix = rewrite.applied(path)
            stripped += [prefix] if prefix else []
        return path or "/", ", ".join(stripped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """`public` routes answer to anybody, others to the machines of their workflow.

    `boot` is the path of the boot script that the service supplies, empty when no label says so.  `boot_host` is the
    host, in lower case, that the label named with it: it must be the workflow's own name, which the caller knows.
    """

    routes: tuple[Route, ...] = ()
    public: bool = False
    boot: str = ""
    boot_host: str = ""


def read_labels(labels: Sequence[tuple[str, str]], urls: Sequence[str] = ()) -> Labels:
    """Raises Invalid with a problem for each label or URL that means something that is not honoured here.

    A problem's `key` is the label's name as it is written, or `urls[0]`.
    """
    reader = _Reader(labels)
    read = reader.read(urls)
    if not reader.problems:
        return read
    more = len(reader.problems) - 1
    raise Invalid(f"{reader.problems[0]}{f' (and {more} more)' if more else ''}", reader.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Label:
    written: str
    value: str


class _Reader:
    """Takes labels by what they mean, and notes what is wrong with them."""

    def __init__(self, labels: Sequence[tuple[str, str]]) -> None:
        self.problems: list[Problem] = []
        self._labels: dict[tuple[str, str], list[_Label]] = {}
        for written, value in labels:
            with self._noting(written):
                name = names.label_name(written)
                if name is not None:
                    label = _Label(written=written, value=value.strip())
                    self._labels.setdefault((name.kind, name.about), []).append(label)

    def read(self, urls: Sequence[str]) -> Labels:
        ports = {name: self._port(name) for name in self._names(names.SERVICE)}
        rewrites = {name: self._rewrite(name) for name in self._names(names.MIDDLEWARE)}
        routes = [self._route(name, ports, rewrites) for name in self._names(names.ROUTER)]
        enabled = self._flag(names.ENABLE, absent=True)
        boot, boot_host = self._boot()
        return Labels(
            routes=(*(route for route in routes if route and enabled), *self._url_routes(urls, ports)),
            public=self._flag(names.PUBLIC, absent=False),
            boot=boot,
            boot_host=boot_host,
        )

    def _route(
        self, router: str, ports: Mapping[str, int | None], rewrites: Mapping[str, Rewrite | None]
    ) -> Route | None:
        rule = self._rule(router)
        port = self._port_of(router, ports)
        priority = self._priority(router)
        used = self._used(router, rewrites)
        if rule is None:
            return None
        name = self._labels[names.RULE, router][0].written.split(".")[3]
        return Route(name=name, rule=rule, priority=priority or len(rule.text), port=port, rewrites=used)

    def _rule(self, router: str) -> Rule | None:
        labels = self._labels.get((names.RULE, router), [])
        rules = []
        for label in labels:
            with self._noting(label.written):
                rules.append(parse_rule(label.value))
        if not labels:
            missing = names.RULE.replace("*", router)
            self._note(self._first(names.ROUTER, router), f"router {router} has no rule: write {missing}")
        return united(rules) if rules else None

    def _priority(self, router: str) -> int:
        label = self._single(names.PRIORITY, router)
        if label is None:
            return 0
        if NUMBER.fullmatch(label.value) and abs(int(label.value)) <= MAX_PRIORITY:
            return int(label.value)
        self._note(label.written, f"expected a whole number, not {label.value[:MAX_SHOWN]!r}; 0 is the rule's length")
        return 0

    def _port_of(self, router: str, ports: Mapping[str, int | None]) -> int | None:
        label = self._single(names.LEADS_TO, router)
        if label is not None:
            return self._referred(label, label.value, "service", ports)
        if len(ports) > 1:
            text = f"{len(ports)} services are declared: write {names.LEADS_TO.replace('*', router)} with one of"
            self._note(self._first(names.ROUTER, router), f"{text} {', '.join(ports)}")
        return next(iter(ports.values()), None)

    def _used(self, router: str, rewrites: Mapping[str, Rewrite | None]) -> tuple[Rewrite, ...]:
        label = self._single(names.MIDDLEWARES, router)
        if label is None:
            return ()
        found = [self._referred(label, name, "middleware", rewrites) for name in label.value.split(",")]
        return tuple(rewrite for rewrite in found if rewrite is not None)

    def _referred(self, label: _Label, reference: str, what: str, declared: Mapping[str, T]) -> T | None:
        """What a name stands for; `@docker` behind it says where it is declared, which is here."""
        name = reference.strip().lower().removesuffix("@docker")
        if name not in declared:
            self._note(label.written, f"there is no {what} {name[:MAX_SHOWN]!r}: {meant(name, declared)}")
        return declared.get(name)

    def _port(self, service: str) -> int | None:
        label = self._single(names.PORT, service)
        if label is None:
            return None
        if NUMBER.fullmatch(label.value) and 0 < int(label.value) <= MAX_PORT:
            return int(label.value)
        self._note(label.written, f"expected a port from 1 to {MAX_PORT}, not {label.value[:MAX_SHOWN]!r}")
        return None

    def _rewrite(self, middleware: str) -> Rewrite | None:
        strip, add = self._single(names.STRIP, middleware), self._single(names.ADD, middleware)
        if strip and add:
            self._note(add.written, f"{middleware} is a stripprefix as well: declare two middlewares")
        if strip:
            return StripPrefix(prefixes=tuple(self._prefix(strip, each) for each in strip.value.split(",")))
        return AddPrefix(prefix=self._prefix(add, add.value)) if add else None

    def _prefix(self, label: _Label, text: str) -> str:
        prefix = text.strip()
        if not PREFIX.fullmatch(prefix):
            self._note(label.written, f"a prefix is a path that begins with /, not {prefix[:MAX_SHOWN]!r}")
        return prefix

    def _url_routes(self, urls: Sequence[str], ports: Mapping[str, int | None]) -> list[Route]:
        if urls and len(ports) > 1:
            self._note(
                "urls[0]", f"{len(ports)} services are declared, and a URL cannot name one: write routers instead"
            )
        routes = []
        for index, url in enumerate(urls):
            with self._noting(f"urls[{index}]"):
                rule = rule_of(url)
                port = next(iter(ports.values()), None)
                routes.append(Route(name=url, rule=rule, priority=len(rule.text), port=port))
        return routes

    def _boot(self) -> tuple[str, str]:
        """Path and host of the boot script; when both labels are there they must mean the same path."""
        path, host = "", ""
        ours, boots = self._single(names.BOOT), self._single(names.BOOTS)
        if boots:
            with self._noting(boots.written):
                path, host = boot_script(boots.value)
        if ours:
            with self._noting(ours.written):
                if boots and path not in ("", boot_path(ours.value)):
                    raise Invalid(f"{boots.written} says {path}: one boot script is supplied")
                path = boot_path(ours.value)
        return path, host

    def _flag(self, kind: str, *, absent: bool) -> bool:
        label = self._single(kind)
        if label is None:
            return absent
        if label.value.lower() not in FLAGS:
            self._note(label.written, f"expected true or false, not {label.value[:MAX_SHOWN]!r}")
        return FLAGS.get(label.value.lower(), absent)

    def _single(self, kind: str, about: str = "") -> _Label | None:
        """The label of a kind that has one value, however often it is written."""
        first, *others = self._labels.get((kind, about), [None])
        for other in others:
            if first and other and other.value != first.value:
                self._note(other.written, f"{first.value[:MAX_SHOWN]!r} was said before: it has one value")
        return first

    def _names(self, section: str) -> list[str]:
        """Of the routers, services or middlewares that labels are about, in their order."""
        return list(dict.fromkeys(about for kind, about in self._labels if kind.startswith(section)))

    def _first(self, section: str, about: str) -> str:
        """The first label about one of them, as it is written."""
        return next(
            labels[0].written
            for (kind, each), labels in self._labels.items()
            if kind.startswith(section) and each == about
        )

    def _note(self, written: str, text: str) -> None:
        self.problems.append(Problem(key=written, text=text))

    @contextmanager
    def _noting(self, written: str) -> Iterator[None]:
        try:
            yield
        except Invalid as refusal:
            self._note(written, str(refusal))
