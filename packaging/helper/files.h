/* Reading what the worker, or whoever runs in the container, wrote. */
#ifndef FILES_H
#define FILES_H

#include <stddef.h>
#include <sys/types.h>

#define HOME "/tinkbox"
#define CONTROL HOME "/control"
#define INFO CONTROL "/info"
#define RUN HOME "/run"
#define SCRIPTS HOME "/debug/scripts"
#define BUSYBOX HOME "/bin/busybox"
#define APPLETS HOME "/busybox"

/* Read the last bytes of a regular file that fit into text, which gets a terminating NUL and holds no other.
 * Returns how many, -1 when there is no such file. */
ssize_t read_end(const char *path, char *text, size_t size);

/* Read a file of NUL-terminated words.  Returns an array of them ending with NULL, or NULL with errno set. */
char **read_words(const char *path);

/* Add text to the end of a file, in one piece. */
int append(const char *path, const char *text, size_t length);

#endif
