"""Which labels are honoured, which are nobody's business, and what is said of the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.label_names import LabelName, label_name


@pytest.mark.parametrize(
    ("written", "kind", "about"),
    [
        ("traefik.enable", "traefik.enable", ""),
        ("Traefik.Enable", "traefik.enable", ""),
        ("traefik.http.routers.Web-1.rule", "traefik.http.routers.*.rule", "web-1"),
        ("TRAEFIK.HTTP.ROUTERS.r.RULE", "traefik.http.routers.*.rule", "r"),
        ("traefik.http.routers.r.priority", "traefik.http.routers.*.priority", "r"),
        ("traefik.http.routers.r.service", "traefik.http.routers.*.service", "r"),
        ("traefik.http.routers.r.middlewares", "traefik.http.routers.*.middlewares", "r"),
        ("traefik.http.services.s.loadBalancer.server.port", "traefik.http.services.*.loadbalancer.server.port", "s"),
        ("traefik.http.middlewares.m.stripPrefix.prefixes", "traefik.http.middlewares.*.stripprefix.prefixes", "m"),
        ("traefik.http.middlewares.m.addPrefix.prefix", "traefik.http.middlewares.*.addprefix.prefix", "m"),
        ("tinkbox.public", "tinkbox.public", ""),
        ("tinkbox.boot.ipxe", "tinkbox.boot.ipxe", ""),
        ("boots.auto.ipxe", "boots.auto.ipxe", ""),
    ],
)
def test_labels_are_known_whatever_their_case(written: str, kind: str, about: str) -> None:
    assert label_name(written) == LabelName(kind=kind, about=about, written=written)


@pytest.mark.parametrize(
    "written", ["", "com.example.team", "traefikish.enable", "tinkboxes", "org.boots.auto.ipxe", "."]
)
def test_other_labels_are_the_containers_own(written: str) -> None:
    assert label_name(written) is None


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("traefik.http.routers.r.tls", "tls is not honoured: the node door speaks plain HTTP: leave it out"),
        (
            "traefik.http.routers.r.tls.certresolver",
            "tls.certresolver is not honoured: the node door speaks plain HTTP",
        ),
        (
            "traefik.http.routers.r.tls.domains[0].main",
            "tls.domains[0].main is not honoured: the node door speaks plain",
        ),
        ("traefik.http.routers.r.entryPoints", "entrypoints is not honoured: every route is at the node door"),
        ("traefik.http.routers.r.entrypoints[0]", "entrypoints[0] is not honoured: every route is at the node door"),
        ("traefik.http.routers.r.ruleSyntax", "rulesyntax is not honoured: rules are read as Traefik v3 reads them"),
        ("traefik.http.routers.r.observability.metrics", "observability.metrics is not honoured: what is recorded"),
        ("traefik.http.routers.r.rules", "rules is not honoured: did you mean rule?"),
        ("traefik.http.routers.r.x", "x is not honoured: known here: rule, priority, service, middlewares"),
        (
            "traefik.http.services.s.loadbalancer.server.scheme",
            "loadbalancer.server.scheme is not honoured: containers are",
        ),
        ("traefik.http.services.s.loadbalancer.server.url", "loadbalancer.server.url is not honoured: requests go to"),
        (
            "traefik.http.services.s.loadbalancer.server.weight",
            "loadbalancer.server.weight is not honoured: one container",
        ),
        (
            "traefik.http.services.s.loadbalancer.sticky.cookie",
            "loadbalancer.sticky.cookie is not honoured: one container",
        ),
        (
            "traefik.http.services.s.loadbalancer.strategy",
            "loadbalancer.strategy is not honoured: one container answers",
        ),
        (
            "traefik.http.services.s.loadbalancer.healthcheck.path",
            "loadbalancer.healthcheck.path is not honoured: write",
        ),
        (
            "traefik.http.services.s.loadbalancer.passivehealthcheck",
            "loadbalancer.passivehealthcheck is not honoured: write",
        ),
        ("traefik.http.services.s.port", "port is not honoured: known here: loadbalancer.server.port"),
        ("traefik.http.services.s.loadbalancer.server.prot", "did you mean loadbalancer.server.port?"),
        ("traefik.http.middlewares.m.redirectscheme.scheme", "known here: stripprefix.prefixes, addprefix.prefix"),
        ("traefik.http.middlewares.m.stripprefix.prefix", "did you mean stripprefix.prefixes?"),
        ("traefik.http.middlewares.m.basicauth.users", "basicauth.users is not honoured"),
        ("traefik.tcp.routers.r.rule", "tcp.routers.r.rule is not honoured: only HTTP is routed"),
        ("traefik.udp.services.s.loadbalancer.server.port", "only HTTP is routed"),
        ("traefik.tls.stores.default", "tls.stores.default is not honoured: the node door speaks plain HTTP"),
        (
            "traefik.docker.network",
            "docker.network is not honoured: services have a network of their workflow's",
        ),
        ("traefik.swarm.network", "swarm.network is not honoured: services have a network of their workflow's"),
        ("traefik.enabled", "enabled is not honoured: did you mean enable?"),
        ("traefik.enable.x", "enable.x is not honoured: did you mean enable?"),
        ("traefik", "traefik is not honoured"),
        ("traefik.http", "http is not honoured"),
        ("traefik.tlsx", "tlsx is not honoured: known here: enable, http.routers.*.rule"),
        ("tinkbox", "tinkbox is not honoured: known here: public, boot.ipxe"),
        ("tinkbox.publc", "publc is not honoured: did you mean public?"),
        ("tinkbox.boot.grub", "boot.grub is not honoured: known here: public, boot.ipxe"),
        ("tinkbox.workflow", "workflow is not honoured: known here: public, boot.ipxe"),
        ("boots.auto", "auto is not honoured: did you mean auto.ipxe?"),
    ],
)
def test_what_is_not_honoured_is_refused_by_its_name(written: str, told: str) -> None:
    with pytest.raises(Invalid) as refusal:
        label_name(written)
    assert told in str(refusal.value)


@pytest.mark.parametrize("section", ["router", "service", "middleware"])
@pytest.mark.parametrize("rest", ["", ".", ".x", "..rule", ".x@file.rule", ".@.rule"])
def test_routers_services_and_middlewares_have_names(section: str, rest: str) -> None:
    with pytest.raises(Invalid, match=rf"expected traefik\.http\.{section}s\.NAME\.OPTION, with a name .* {section}"):
        label_name(f"traefik.http.{section}s{rest}")


@given(st.text(), st.sampled_from(["", "traefik.", "traefik.http.routers.", "tinkbox.", "traefik.http.services.s."]))
def test_any_name_is_known_refused_or_nobodys_business(text: str, before: str) -> None:
    try:
        name = label_name(before + text)
    except Invalid:
        return
    assert name is None or name.written == before + text
