/* What the worker starts in a container beside the action's command: shells, and their end. */
#ifndef SHELL_H
#define SHELL_H

/* Become a shell, or with words that program, of the session named.  Returns an exit code when it could not. */
int shell(const char *session, char **words);

/* End every process of the session named.  Returns an exit code. */
int reap_session(const char *session);

#endif
