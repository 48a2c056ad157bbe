"""Processes of our own that work on what strangers made: little memory, little time, no files, no rights.

`programs` is how one is started: this very program, with a word that nobody types.  `giving_up` is its first step.
"""
