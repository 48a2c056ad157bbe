import pytest

from tinkbox.osie.copyright import identifier, licences

FORM = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"


def test_each_paragraph_names_a_licence() -> None:
    text = (
        f"{FORM}Files: *\nLicense: GPL-2+ or BSD-3-clause\n text\n\nFiles: a\nLicense: Expat\n\nLicense: Expat\n words"
    )
    assert licences(text) == ("BSD-3-Clause", "GPL-2.0-or-later", "MIT")


def test_an_old_file_names_the_texts_that_it_points_to() -> None:
    text = "This package was debianized.\nThe GPL is in /usr/share/common-licenses/GPL-2, see /usr/share/common-licenses/LGPL-2.1.\n"
    assert licences(text) == ("GPL-2.0-only", "LGPL-2.1-only")


def test_a_file_that_names_none_gives_none() -> None:
    assert licences("All rights are with the author.") == ()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("GPL-2", "GPL-2.0-only"),
        ("GPL-3.0+", "GPL-3.0-or-later"),
        ("LGPL-2.1+", "LGPL-2.1-or-later"),
        ("Apache-2.0", "Apache-2.0"),
        ("Expat", "MIT"),
        ("zlib", "Zlib"),
        ("GPL-3+ with Bison exception", "GPL-3.0-or-later WITH Bison exception"),
        ("Beerware", "Beerware"),
    ],
)
def test_debians_word_for_a_licence_becomes_spdxs(name: str, wanted: str) -> None:
    assert identifier(name) == wanted
