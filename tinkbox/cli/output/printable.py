"""Text that cannot steer a terminal, and times."""

from datetime import UTC, datetime


def clean(text: str) -> str:
    """One line without control characters: nothing a machine said steers the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def clean_block(text: str) -> str:
    """The same for text of several lines; a carriage return becomes a new line."""
    kept = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in kept)


def moment(text: str | None) -> str:
    """A time as Go prints it: 2020-07-08 15:17:02 +0000 UTC."""
    if not text:
        return ""
    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")


def logged(text: str) -> str:
    """As 2020's tink printed what it had done: through Go's logger."""
    return f"{datetime.now(UTC):%Y/%m/%d %H:%M:%S} {text}"
