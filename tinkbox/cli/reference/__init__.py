"""What the command line is, as text: completions, man pages and docs/commands.md, printed from its own declarations.

`declarations` reads the parsers of argparse into values; everything else is a pure function of these.
"""
