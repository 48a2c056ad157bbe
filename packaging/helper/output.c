#include "output.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

/* An engine that has not begun to listen when it sees a container's end loses all that was printed: Docker 26 does that to one
 * of a thousand containers that end at once on a busy machine, and to none that lasts so long. */
#define HEARD_MS 100

long long bytes_written(void)
{
    char text[512];
    const char *line = read_end("/proc/self/io", text, sizeof text) < 0 ? NULL : strstr(text, "wchar: ");

    return line ? atoll(line + strlen("wchar: ")) : -1;
}

void be_heard(struct timespec began)
{
    struct timespec now;
    long left;

    clock_gettime(CLOCK_MONOTONIC, &now);
    left = HEARD_MS - (now.tv_sec - began.tv_sec) * 1000 - (now.tv_nsec - began.tv_nsec) / 1000000;
    if (left > 0)
        poll(NULL, 0, (int)left);
}
