/* The life of an action's container: its command, and the holds before and after it. */
#ifndef HOLD_H
#define HOLD_H

/* Run the command and hold as the worker wishes.  Returns the exit code of the container. */
int supervise(void);

#endif
