"""Text from strangers, made fit to keep and to show; and small words for people."""


def one_line(text: str, limit: int) -> str:
    """At most `limit` characters of one line, without control characters and without spaces at its ends."""
    text = text[:limit]
    if text.isprintable():
        return text.strip()  # nearly always, and a tenth of the time
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


def escaped(text: str) -> str:
    """The whole text in one line: what could steer a terminal, end a line or turn it around becomes a visible escape."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )


def counted(number: int, noun: str) -> str:
    """A number of things: `1 problem`, `2 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
