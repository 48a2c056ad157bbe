import json

import pytest

from tinkbox.wire.cyclonedx import Component, package_url, read, written

PROGRAM = Component(kind="application", name="tinkbox", version="1.2", purl="pkg:generic/tinkbox@1.2", sha256="ab" * 32)
SSL = Component(
    kind="library",
    name="libssl3",
    version="3.0.19",
    purl="pkg:deb/debian/libssl3@3.0.19",
    licences=("Apache-2.0", "words of its own"),
    publisher="Debian",
    parts=(Component(kind="file", name="libssl.so.3", sha256="cd" * 32),),
    properties={"tinkbox:carried": "1"},
)
RICH = Component(kind="library", name="rich", version="15", licences=("MIT OR Apache-2.0",))


def test_a_document_names_its_subject_and_every_component() -> None:
    document = json.loads(written(PROGRAM, [SSL, RICH], "2026-11-30T12:00:00Z"))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    assert document["metadata"]["timestamp"] == "2026-11-30T12:00:00Z"
    assert document["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert [each["name"] for each in document["components"]] == ["libssl3", "rich"]
    assert document["components"][0]["components"][0]["name"] == "libssl.so.3"


def test_a_licence_is_an_identifier_an_expression_or_a_name() -> None:
    ssl, rich = json.loads(written(PROGRAM, [SSL, RICH]))["components"]
    assert ssl["licenses"] == [{"license": {"id": "Apache-2.0"}}, {"license": {"name": "words of its own"}}]
    assert rich["licenses"] == [{"expression": "MIT OR Apache-2.0"}]


@pytest.mark.parametrize("name", ["GPL-2.0-or-later WITH Texinfo exception", "see LICENSE OR ask", "OR"])
def test_what_is_no_expression_of_spdx_is_a_name(name: str) -> None:
    [found] = json.loads(written(PROGRAM, [Component(kind="library", name="a", licences=(name,))]))["components"]
    assert found["licenses"] == [{"license": {"name": name}}]


def test_the_same_components_in_another_order_give_the_same_bytes() -> None:
    assert written(PROGRAM, [SSL, RICH]) == written(PROGRAM, [RICH, SSL])


def test_another_content_has_another_serial_number() -> None:
    one, other = (json.loads(written(PROGRAM, parts))["serialNumber"] for parts in ([SSL], [RICH]))
    assert one != other
    assert one.startswith("urn:uuid:")


def test_without_a_time_the_document_has_none() -> None:
    assert "timestamp" not in json.loads(written(PROGRAM, []))["metadata"]


def test_every_component_has_a_reference_of_its_own() -> None:
    document = json.loads(written(PROGRAM, [SSL, Component(kind="library", name="x", parts=(SSL,)), SSL]))
    references: list[str] = []

    def gather(each: dict[str, object]) -> None:
        references.append(str(each["bom-ref"]))
        for part in each.get("components", ()):  # type: ignore[attr-defined]
            gather(part)

    for each in document["components"]:
        gather(each)
    assert len(references) == len(set(references)) == 7
    assert {each["ref"] for each in document["dependencies"]} <= {
        *references,
        document["metadata"]["component"]["bom-ref"],
    }


def test_what_was_written_is_read_again() -> None:
    assert read(written(PROGRAM, [RICH, SSL])) == (SSL, RICH)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"bomFormat": "SPDX"}', '{"bomFormat": "CycloneDX", "components": [{}]}',
                                  '{"bomFormat": "CycloneDX", "components": [7]}', '{"bomFormat": "CycloneDX", "components": 7}'])  # fmt: skip
def test_what_is_no_bill_of_materials_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(text)


def test_a_kind_that_this_version_does_not_have_becomes_a_library() -> None:
    text = '{"bomFormat": "CycloneDX", "components": [{"type": "cryptographic-asset", "name": "key"}]}'
    assert [each.kind for each in read(text)] == ["library"]


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        (package_url("pypi", "markdown-it-py", "4.3.0"), "pkg:pypi/markdown-it-py@4.3.0"),
        (
            package_url(
                "deb", "libstdc++6", "12.2.0-14+deb12u1", "debian", distro="debian-12", arch="amd64", upstream=""
            ),
            "pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12",
        ),
        (package_url("deb", "busybox", "1:1.35~rc", "debian"), "pkg:deb/debian/busybox@1:1.35~rc"),
    ],
)
def test_a_package_is_named_by_its_purl(url: str, wanted: str) -> None:
    assert url == wanted
