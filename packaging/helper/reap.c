#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"

#define LOOK_MS 20
#define PATIENCE_LOOKS (2000 / LOOK_MS)
#define KILL_LOOKS (1000 / LOOK_MS)

/* Whether a process was started with this entry in its environment, which may be long. */
static bool has_entry(const char *process, const char *entry)
{
    char path[64], text[4096];
    size_t length = strlen(entry) + 1, matched = 0;
    bool fresh = true, found = false;
    ssize_t got;
    int file;

    snprintf(path, sizeof path, "/proc/%.20s/environ", process);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    while (!found && (got = read(file, text, sizeof text)) > 0)
        for (ssize_t at = 0; at < got && !found; at++) {
            if (fresh && text[at] == entry[matched])
                found = ++matched == length;
            else
                fresh = false;
            if (!text[at]) {
                fresh = true;
                matched = 0;
            }
        }
    close(file);
    return found;
}

/* Send the signals to every process of the session but this one.  Returns how many there are, -1 without /proc. */
static int signal_all(const char *entry, const int *signals)
{
    DIR *processes = opendir("/proc");
    struct dirent *each;
    int count = 0;

    if (!processes)
        return -1;
    while ((each = readdir(processes))) {
        pid_t process = (pid_t)strtol(each->d_name, NULL, 10);
        if (!isdigit((unsigned char)*each->d_name) || process == getpid() || !has_entry(each->d_name, entry))
            continue;
        count++;
        for (const int *signal = signals; *signal; signal++)
            kill(process, *signal);
    }
    closedir(processes);
    return count;
}

int reap_session(const char *session)
{
    static const int ASK[] = {SIGHUP, SIGTERM, SIGCONT, 0}, LOOK[] = {0}, FORCE[] = {SIGKILL, 0};
    char entry[128];
    int left;

    snprintf(entry, sizeof entry, "TINKBOX_SHELL=%s", session);
    left = signal_all(entry, ASK);
    for (int look = 0; left > 0 && look < PATIENCE_LOOKS; look++) {
        poll(NULL, 0, LOOK_MS);
        left = signal_all(entry, LOOK);
    }
    for (int look = 0; left > 0 && look < KILL_LOOKS; look++) {
        left = signal_all(entry, FORCE);
        poll(NULL, 0, LOOK_MS);
    }
    if (left < 0)
        dprintf(STDERR_FILENO, "there is no /proc to find the processes of the shell in\n");
    return left != 0;
}
