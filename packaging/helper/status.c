#define _GNU_SOURCE
#include "status.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "files.h"

#define STATUS RUN "/status"
/* The newest facts are what counts, and whoever floods the file may not keep us busy. */
#define MAX_STATUS (64 * 1024)
/* As after SIGKILL, which is what ends the helper before it can write how its command ended. */
#define UNKNOWN_CODE 137

static const char *const KINDS[] = {[BEFORE] = "before", [FAILURE] = "failure", [AFTER] = "after"};

static bool take_number(char **line, unsigned long max, unsigned long *number)
{
    char *word = strsep(line, " "), *end;

    if (!word || !isdigit((unsigned char)*word))
        return false;
    *number = strtoul(word, &end, 10);
    return !*end && *number <= max;
}

static bool take_kind(char **line, enum kind *kind)
{
    char *word = strsep(line, " ");

    for (*kind = BEFORE; word && *kind <= AFTER; ++*kind)
        if (!strcmp(word, KINDS[*kind]))
            return true;
    return false;
}

static void take(struct past *past, char *line)
{
    unsigned long run, number;
    enum kind kind;
    char *fact = strsep(&line, " ");

    if (!strcmp(fact, "command")) {
        if (take_number(&line, -1UL, &number) && number > past->command)
            past->command = number;
        return;
    }
    if (!take_number(&line, 1000000, &run))
        return;
    if (!strcmp(fact, "started") && take_number(&line, -1UL, &number))
        *past = (struct past){RUNNING, run, UNKNOWN_CODE, past->kind, past->command};
    else if (!strcmp(fact, "failed-to-start") && take_number(&line, 4095, &number))
        *past = (struct past){ENDED, run, code_of_failure((int)number), past->kind, past->command};
    else if (!strcmp(fact, "exited") && take_number(&line, 255, &number))
        *past = (struct past){ENDED, run, (int)number, past->kind, past->command};
    else if (!strcmp(fact, "held") && take_kind(&line, &kind))
        *past = (struct past){HELD, kind == BEFORE && run ? run - 1 : run, past->code, kind, past->command};
}

struct past recall(void)
{
    static char text[MAX_STATUS];
    struct past past = {.code = UNKNOWN_CODE};
    char *rest = text;
    ssize_t length = read_end(STATUS, text, sizeof text);

    if (!length || (length < 0 && errno == ENOENT))
        return past;
    /* Whatever became of the facts, there were some: nothing begins here for the first time. */
    past.phase = RUNNING;
    while (length > 0 && rest)
        take(&past, strsep(&rest, "\n"));
    return past;
}

int code_of_failure(int error)
{
    return error == ENOENT ? 127 : 126;
}

__attribute__((format(printf, 1, 2))) static void record(const char *format, ...)
{
    char line[128];
    va_list values;
    int length;

    va_start(values, format);
    length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    append(STATUS, line, (size_t)length);
}

void record_started(unsigned long run, int process)
{
    record("started %lu %d\n", run, process);
}

void record_failure(unsigned long run, int error, int interpreter)
{
    record("failed-to-start %lu %d %s\n", run, error, interpreter ? "interpreter" : "program");
}

void record_exited(unsigned long run, int code, bool killed)
{
    record("exited %lu %d %s\n", run, code, killed ? "signal" : "exit");
}

void record_unseen_end(unsigned long run, int code)
{
    record("exited %lu %d unseen\n", run, code);
}

void record_held(unsigned long run, enum kind kind)
{
    record("held %lu %s\n", run, KINDS[kind]);
}

void record_command(unsigned long sequence)
{
    record("command %lu\n", sequence);
}
