"""The command line: argparse, printing and exit statuses; the only floor that prints."""


def main() -> int:
    """Run the command line; returns the exit status."""
    return 2
