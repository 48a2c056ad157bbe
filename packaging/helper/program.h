/* Finding and becoming a program, as the container engine would have done. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Why a program did not start; with `interpreter` it is there, but what its first line or its header names is not. */
struct failure {
    int error;
    bool interpreter;
};

/* Look a name up in PATH.  A name with a slash is a path already.  Returns 0, or the errno of why there is none. */
int find_program(const char *name, char *path, size_t size);

/* Become this program with the present environment; returns only when it could not. */
struct failure execute(char *const argv[]);

/* Start what control/argv says with control/environ laid over the environment, in a session of its own and with this
 * signal mask.  Returns its process, or 0 and the failure. */
pid_t start(const sigset_t *mask, struct failure *failure);

#endif
