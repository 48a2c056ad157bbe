#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel takes no more than this of arguments and environment together. */
#define MAX_WORDS_BYTES (6 * 1024 * 1024)

/* An action may have put anything in the place of a file, such as a pipe that nobody writes to. */
static int open_regular(const char *path, int flags, off_t *size)
{
    struct stat status;
    int file = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);

    if (file < 0)
        return -1;
    if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
        close(file);
        errno = EINVAL;
        return -1;
    }
    *size = status.st_size;
    return file;
}

static ssize_t read_at(int file, char *buffer, size_t size, off_t offset)
{
    size_t have = 0;

    while (have < size) {
        ssize_t got = pread(file, buffer + have, size - have, offset + (off_t)have);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

ssize_t read_end(const char *path, char *text, size_t size)
{
    off_t length;
    int file = open_regular(path, O_RDONLY, &length);
    ssize_t got;

    if (file < 0)
        return -1;
    got = read_at(file, text, size - 1, length < (off_t)size ? 0 : length - (off_t)size + 1);
    close(file);
    if (got < 0)
        return -1;
    for (ssize_t at = 0; at < got; at++)
        if (!text[at])
            text[at] = '?';
    text[got] = '\0';
    return got;
}

char **read_words(const char *path)
{
    off_t length;
    int file = open_regular(path, O_RDONLY, &length);
    char *text, **words, *next;
    size_t count = 0;

    if (file < 0)
        return NULL;
    if (length > MAX_WORDS_BYTES) {
        close(file);
        errno = E2BIG;
        return NULL;
    }
    text = malloc((size_t)length + 1);
    length = text ? read_at(file, text, (size_t)length, 0) : -1;
    close(file);
    if (length < 0)
        return NULL;
    text[length] = '\0';
    for (off_t at = 0; at < length; at++)
        count += !text[at];
    words = calloc(count + 1, sizeof *words);
    if (!words)
        return NULL;
    next = text;
    for (size_t word = 0; word < count; word++) {
        words[word] = next;
        next += strlen(next) + 1;
    }
    return words;
}

int append(const char *path, const char *text, size_t length)
{
    off_t size;
    char last = '\n';
    int file = open_regular(path, O_RDWR | O_APPEND | O_CREAT, &size);
    ssize_t written;

    if (file < 0)
        return -1;
    /* What others left unfinished must not swallow this. */
    if (size > 0 && pread(file, &last, 1, size - 1) == 1 && last != '\n')
        (void)!write(file, "\n", 1);
    written = write(file, text, length);
    close(file);
    return written == (ssize_t)length ? 0 : -1;
}
