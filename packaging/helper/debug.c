#define _GNU_SOURCE
#include "debug.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "files.h"
#include "status.h"

#define LOOK_MS 50
#define PATIENCE_SECONDS 15
#define MAX_WHY 2048
#define MAX_SESSION 128

enum { OK, REFUSED, WRONG_USAGE };

struct debug_command {
    const char *name, *usage, *verb, *help;
};

#define RETRY "debug-retry"

static const struct debug_command COMMANDS[] = {
    {"debug-info", "", NULL,
     "Tell where the action is held, how its command ended, and what can be done about it."},
    {"debug-continue", "[WHY...]", "continue",
     "Go on as if the command had succeeded; held before it, run it."},
    {"debug-continue-failure", "[WHY...]", "fail",
     "Go on with the failure: the action fails as its command did, and the template says what follows."},
    {"debug-breakpointexit", "[WHY...]", "fail",
     "Leave the breakpoint with the action failed.  In Tekton's proposal (TEP-0042) this marks the step as failed and\n"
     "exits the breakpoint, where debug-continue-failure lets the next steps run; here no action ever runs after one\n"
     "that failed, so the two do the same."},
    {RETRY, "[--fresh] [WHY...]", "retry",
     "Run the command again in this container as it is now, or --fresh in a new one from the image."},
    {"debug-skip", "[WHY...]", "skip",
     "Held before the command: do not run it, and go on as if it had succeeded."},
    {"debug-abort", "[WHY...]", "abort",
     "Cancel the whole workflow."},
};

static int print_file(const char *path)
{
    static char text[64 * 1024];
    ssize_t length = read_end(path, text, sizeof text);

    return length > 0 && write(STDOUT_FILENO, text, (size_t)length) == length ? OK : REFUSED;
}

static int tell_where(void)
{
    if (print_file(INFO "/about") != OK)
        printf("nothing is known of this action\n");
    if (recall().phase != HELD)
        printf("It is not held now: there is nothing to decide.\n");
    return fflush(stdout) ? REFUSED : OK;
}

/* Add text to a line of JSON as the inside of a string; other bytes than ASCII stay what they are. */
static char *escape(char *at, const char *text, size_t max)
{
    for (; *text && max; text++, max--) {
        unsigned char each = (unsigned char)*text;
        if (each < 0x20 || each == 0x7f)
            at += sprintf(at, "\\u%04x", each);
        else {
            if (each == '"' || each == '\\')
                *at++ = '\\';
            *at++ = (char)each;
        }
    }
    return at;
}

static char *escape_words(char *at, char **words)
{
    size_t left = MAX_WHY;

    for (char **word = words; *word && left; word++) {
        size_t length = strnlen(*word, left - (word != words));
        if (word != words)
            *at++ = ' ';
        at = escape(at, *word, length);
        left -= length + (word != words);
    }
    return at;
}

static bool ask(const char *id, const char *verb, bool fresh, char **why)
{
    static char line[sizeof "\\u0000" * (MAX_WHY + MAX_SESSION) + 256];
    const char *session = getenv("TINKBOX_SHELL");
    char *at = line;

    at += sprintf(at, "{\"id\": \"%s\", \"verb\": \"%s\", \"fresh\": %s, \"why\": \"", id, verb, fresh ? "true" : "false");
    at = escape_words(at, why);
    at += sprintf(at, "\", \"shell\": \"");
    at = escape(at, session ? session : "", MAX_SESSION);
    at += sprintf(at, "\"}\n");
    return !append(RUN "/request", line, (size_t)(at - line));
}

/* Wait for `ID ok|refused TEXT`. */
static int wait_for_answer(const char *id)
{
    char text[4096], *rest;

    for (int look = 0; look < PATIENCE_SECONDS * 1000 / LOOK_MS; look++, poll(NULL, 0, LOOK_MS)) {
        if (read_end(CONTROL "/answer", text, sizeof text) < 0 || strncmp(text, id, strlen(id)))
            continue;
        rest = text + strlen(id);
        if (!strncmp(rest, " ok", 3)) {
            printf("%s", rest + 3 + (rest[3] == ' '));
            return OK;
        }
        if (!strncmp(rest, " refused", 8)) {
            fprintf(stderr, "%s", rest + 8 + (rest[8] == ' '));
            return REFUSED;
        }
    }
    fprintf(stderr, "no answer within %d seconds; it was asked for and may still happen: see debug-info\n",
            PATIENCE_SECONDS);
    return REFUSED;
}

static int request(const char *verb, bool fresh, char **why)
{
    unsigned char chance[8];
    char id[2 * sizeof chance + 1];

    if (recall().phase != HELD) {
        fprintf(stderr, "the action is not held: there is nothing to decide\n");
        return REFUSED;
    }
    if (getrandom(chance, sizeof chance, 0) != sizeof chance)
        memset(chance, getpid() & 0xff, sizeof chance);
    for (size_t each = 0; each < sizeof chance; each++)
        sprintf(id + 2 * each, "%02x", chance[each]);
    if (!ask(id, verb, fresh, why)) {
        fprintf(stderr, "the request cannot be written to " RUN "/request\n");
        return REFUSED;
    }
    return wait_for_answer(id);
}

static void explain(const struct debug_command *command, FILE *where)
{
    fprintf(where, "Usage: %s%s%s\n%s\n", command->name, *command->usage ? " " : "", command->usage, command->help);
}

static int run(const struct debug_command *command, char **words)
{
    bool fresh = false;

    for (; *words && !strncmp(*words, "-", 1); words++) {
        if (!strcmp(*words, "--")) {
            words++;
            break;
        }
        if (!strcmp(*words, "--help") || !strcmp(*words, "-h")) {
            explain(command, stdout);
            return OK;
        }
        if (strcmp(command->name, RETRY) || strcmp(*words, "--fresh")) {
            fprintf(stderr, "%s: unknown option %s\n", command->name, *words);
            explain(command, stderr);
            return WRONG_USAGE;
        }
        fresh = true;
    }
    if (command->verb)
        return request(command->verb, fresh, words);
    if (*words) {
        explain(command, stderr);
        return WRONG_USAGE;
    }
    return tell_where();
}

int debug(const char *name, char **words)
{
    for (size_t each = 0; each < sizeof COMMANDS / sizeof *COMMANDS; each++)
        if (!strcmp(name, COMMANDS[each].name))
            return run(&COMMANDS[each], words);
    fprintf(stderr, "%s: there is no such command\n", name);
    return WRONG_USAGE;
}
