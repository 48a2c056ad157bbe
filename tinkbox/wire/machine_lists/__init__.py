"""Lists of machines that other programs keep: each file here reads one program's format, and says which field is which.

`reading` recognises what a file is.  Every reader goes through the whole file: what is wrong, and what is no machine to
import, is told with its line.
"""
