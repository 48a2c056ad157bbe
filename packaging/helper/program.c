#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"

static int check(const char *path)
{
    struct stat status;

    if (stat(path, &status))
        return errno;
    if (S_ISDIR(status.st_mode))
        return EACCES;
    return access(path, X_OK) ? errno : 0;
}

int find_program(const char *name, char *path, size_t size)
{
    const char *folder = getenv("PATH"), *end;
    int error = ENOENT;

    if (!*name)
        return ENOENT;
    if (strchr(name, '/')) {
        if ((size_t)snprintf(path, size, "%s", name) >= size)
            return ENAMETOOLONG;
        return check(path);
    }
    for (; folder; folder = *end ? end + 1 : NULL) {
        end = strchrnul(folder, ':');
        if ((size_t)snprintf(path, size, "%.*s/%s", end == folder ? 1 : (int)(end - folder), end == folder ? "." : folder,
                             name) >= size)
            continue;
        switch (check(path)) {
        case 0:
            return 0;
        case EACCES:
            error = EACCES;
        }
    }
    return error;
}

struct failure execute(char *const argv[])
{
    char path[PATH_MAX];
    struct failure failure = {.error = find_program(argv[0], path, sizeof path)};

    if (failure.error)
        return failure;
    execve(path, argv, environ);
    failure.error = errno;
    failure.interpreter = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    return failure;
}

static void lay_over_environment(char **entries)
{
    for (; entries && *entries; entries++)
        if (strchr(*entries, '=') > *entries)
            putenv(*entries);
}

static struct failure become_command(const sigset_t *mask)
{
    char **argv = read_words(CONTROL "/argv");

    if (!argv || !argv[0])
        return (struct failure){.error = argv ? ENOENT : errno};
    lay_over_environment(read_words(CONTROL "/environ"));
    setsid();
    sigprocmask(SIG_SETMASK, mask, NULL);
    return execute(argv);
}

pid_t start(const sigset_t *mask, struct failure *failure)
{
    int ends[2];
    pid_t child;

    *failure = (struct failure){0};
    if (pipe2(ends, O_CLOEXEC)) {
        failure->error = errno;
        return 0;
    }
    child = fork();
    if (child == 0) {
        *failure = become_command(mask);
        (void)!write(ends[1], failure, sizeof *failure);
        _exit(127);
    }
    failure->error = child < 0 ? errno : 0;
    close(ends[1]);
    /* The pipe closes, and nothing was written, when the program has taken over. */
    if (child > 0 && read(ends[0], failure, sizeof *failure) > 0) {
        waitpid(child, NULL, 0);
        child = 0;
    }
    close(ends[0]);
    return child > 0 ? child : 0;
}
