/* The debug-* commands: how somebody in a held container says what becomes of the action. */
#ifndef DEBUG_H
#define DEBUG_H

/* Run the command of this name; words are its arguments.  Returns 0, 1 when it was refused, 2 when it was wrong. */
int debug(const char *name, char **words);

#endif
