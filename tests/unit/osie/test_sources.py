"""What another component is taken from: this machine's own sources, and nobody else's."""

from pathlib import Path

from tinkbox.osie.sources import with_component

COMPONENT = "non-free-firmware"


def written(tmp_path: Path, **files: str) -> str:
    folder = tmp_path / "sources.list.d"
    folder.mkdir()
    for name, text in files.items():
        path = tmp_path / "sources.list" if name == "list" else folder / name.replace("_", ".")
        path.write_text(text)
    return with_component(COMPONENT, "bookworm", tmp_path)


def test_debian_12s_sources_are_taken_with_another_component(tmp_path) -> None:
    text = written(
        tmp_path,
        debian_sources="Types: deb deb-src\n# a snapshot\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\n"
        "Components: main\nArchitectures: amd64\nSigned-By: /usr/share/keyrings/debian.gpg\n\n"
        "Types: deb\nURIs: http://security.debian.org\nSuites: bookworm-security\nComponents: main contrib\n",
    )
    assert text == (
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\n"
        "Signed-By: /usr/share/keyrings/debian.gpg\nComponents: non-free-firmware\n\n"
        "Types: deb\nURIs: http://security.debian.org\nSuites: bookworm-security\nComponents: non-free-firmware\n"
    )


def test_lines_of_the_old_format_are_taken_with_their_options(tmp_path) -> None:
    text = written(
        tmp_path,
        list="# deb http://off/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://m/debian bookworm main contrib # ours\n"
        "deb-src http://m/debian bookworm main\ndeb http://m/debian stable main\n",
    )
    assert text == (
        "Types: deb\nURIs: http://m/debian\nSuites: bookworm\nSigned-By: /k.gpg\nComponents: non-free-firmware\n\n"
        "Types: deb\nURIs: http://m/debian\nSuites: stable\nComponents: non-free-firmware\n"
    )


def test_a_key_that_stands_in_the_source_comes_along(tmp_path) -> None:
    key = " -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEZ\n -----END PGP PUBLIC KEY BLOCK-----"
    text = written(
        tmp_path, a_sources=f"Types: deb\nURIs: http://m\nSuites: bookworm\nComponents: main\nSigned-By:\n{key}\n"
    )
    assert f"Signed-By: \n{key}\n" in text


def test_sources_of_others_and_those_that_are_off_are_left_out(tmp_path) -> None:
    text = written(
        tmp_path,
        list="deb https://packages.example/apt cloud-bookworm main\ndeb http://m/debian bookworm contrib\n",
        x_sources="Enabled: no\nTypes: deb\nURIs: http://m\nSuites: bookworm\nComponents: main\n",
        y_sources="Types: deb\nURIs: http://n\nSuites: nodistro\nComponents: main\n",
        z_sources="nonsense\n continued\n\n\n",
    )
    assert text == ""


def test_without_any_sources_there_are_none(tmp_path) -> None:
    assert with_component(COMPONENT, "bookworm", tmp_path / "nowhere") == ""
