/* The helper: a small program that stands between a container's engine and an action's command.
 *
 * As the container's entrypoint it runs the command and, where a breakpoint is armed, does not end after it.  In the
 * container it is also what the worker starts shells with, and under the names debug-* what people there decide with.
 * It speaks with the worker by files (tinkbox/worker/files/helper_files.py), and prints nothing where the command prints. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "debug.h"
#include "hold.h"
#include "shell.h"

#define MAX_SESSION 64

static bool is_session(const char *word)
{
    size_t length = word ? strlen(word) : 0;

    if (!length || length > MAX_SESSION)
        return false;
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && !strchr("_-", *word))
            return false;
    return true;
}

int main(int count, char **words)
{
    const char *slash = count ? strrchr(words[0], '/') : NULL, *name = slash ? slash + 1 : count ? words[0] : "";
    char **rest = count ? words + 1 : words;

    if (!strncmp(name, "debug-", 6))
        return debug(name, rest);
    if (!*rest)
        return supervise();
    if (!strcmp(*rest, "version") && !rest[1])
        return printf("tinkbox %s\n", VERSION) < 0;
    if (!strcmp(*rest, "shell") && is_session(rest[1]))
        return shell(rest[1], rest + 2 + (rest[2] && !strcmp(rest[2], "--")));
    if (!strcmp(*rest, "reap") && is_session(rest[1]) && !rest[2])
        return reap_session(rest[1]);
    fprintf(stderr, "Usage: entrypoint [shell SESSION [--] [COMMAND...] | reap SESSION | version]\n");
    return 2;
}
