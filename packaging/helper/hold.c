#define _GNU_SOURCE
#include "hold.h"

#include <ctype.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "output.h"
#include "program.h"
#include "status.h"

/* Looking again makes it right, being notified makes it quick. */
#define LOOK_MS 500
#define LOOK_UNNOTIFIED_MS 200

enum { RUN_COMMAND = -1 };
enum policy { HOLD_BEFORE = 1, HOLD_AFTER = 2, HOLD_ON_FAILURE = 4, HOLD_AT_ONCE = 8 };
enum verb { VERB_RUN, VERB_RETRY, VERB_SIGNAL };

struct command {
    unsigned long sequence;
    enum verb verb;
    int argument;
};

struct helper {
    sigset_t mask; /* the one it was started with */
    int signals;
    int changes;
    pid_t child;
    unsigned long run;
    unsigned long command;
    struct timespec began;
    bool killed;  /* a signal ended the command: its code alone does not tell, for it may exit with the same */
    bool left;    /* the command is over, and processes that it started are not */
    bool printed; /* perhaps: it wrote something somewhere */
};

static struct helper begin(const struct past *past)
{
    struct helper helper = {.run = past->run, .command = past->command, .changes = -1};
    sigset_t all;

    clock_gettime(CLOCK_MONOTONIC, &helper.began);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &helper.mask);
    helper.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    /* In the machine's own process namespace it is not process 1, to which orphans come by themselves. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return helper;
}

/* The kernel takes a while to let go of a watch, for which a command that nobody holds need not wait at its end. */
static void be_notified(struct helper *helper)
{
    if (helper->changes >= 0)
        return;
    helper->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    inotify_add_watch(helper->changes, CONTROL, IN_MOVED_TO | IN_CLOSE_WRITE);
}

static void wait_for_news(const struct helper *helper)
{
    struct pollfd news[] = {{.fd = helper->signals, .events = POLLIN}, {.fd = helper->changes, .events = POLLIN}};
    char events[4096];

    poll(news, 2, helper->changes < 0 ? LOOK_UNNOTIFIED_MS : LOOK_MS);
    while (helper->changes >= 0 && read(helper->changes, events, sizeof events) > 0)
        ;
}

static int next_signal(const struct helper *helper)
{
    struct signalfd_siginfo info;

    return read(helper->signals, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

/* Returns how the command ended, -1 when it did not yet. */
static int reap(struct helper *helper)
{
    int status, code = -1;
    pid_t ended;

    while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
        if (ended == helper->child) {
            helper->child = 0;
            helper->killed = WIFSIGNALED(status);
            code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
    helper->left = !ended;
    return code;
}

static unsigned policy(void)
{
    static const struct {
        const char *word;
        enum policy policy;
    } WORDS[] = {{"before", HOLD_BEFORE}, {"after", HOLD_AFTER}, {"on-failure", HOLD_ON_FAILURE}, {"hold", HOLD_AT_ONCE}};
    char text[256], *rest = text, *word;
    unsigned armed = 0;

    if (read_end(CONTROL "/policy", text, sizeof text) < 0)
        return 0;
    while ((word = strsep(&rest, " \n")))
        for (size_t each = 0; each < sizeof WORDS / sizeof *WORDS; each++)
            if (!strcmp(word, WORDS[each].word))
                armed |= WORDS[each].policy;
    return armed;
}

/* Whether the worker gave a command that was not carried out yet. */
static bool ordered(const struct helper *helper, struct command *command)
{
    static const char *const VERBS[] = {[VERB_RUN] = "run", [VERB_RETRY] = "retry", [VERB_SIGNAL] = "signal"};
    char text[256], *rest = text, *word;

    if (read_end(CONTROL "/command", text, sizeof text) < 0 || !isdigit((unsigned char)*text))
        return false;
    command->sequence = strtoul(text, &rest, 10);
    if (command->sequence <= helper->command || *rest++ != ' ')
        return false;
    word = strsep(&rest, " \n");
    command->argument = rest ? atoi(rest) : 0;
    for (command->verb = VERB_RUN; command->verb <= VERB_SIGNAL; command->verb++)
        if (!strcmp(word, VERBS[command->verb]))
            return true;
    return false;
}

static void carried_out(struct helper *helper, const struct command *command)
{
    helper->command = command->sequence;
    record_command(command->sequence);
}

/* Run the command to its end.  Returns its exit code. */
static int run(struct helper *helper)
{
    struct failure failure;
    struct command command;
    long long written;
    int code, signal;

    helper->run++;
    helper->child = start(&helper->mask, &failure);
    if (!helper->child) {
        record_failure(helper->run, failure.error, failure.interpreter);
        return code_of_failure(failure.error);
    }
    record_started(helper->run, helper->child);
    written = bytes_written();
    while ((code = reap(helper)) < 0) {
        /* One at a time: what comes together with the command's end is for the hold after it. */
        signal = next_signal(helper);
        if (signal && signal != SIGCHLD)
            kill(helper->child, signal);
        else if (ordered(helper, &command) && command.verb == VERB_SIGNAL) {
            kill(-helper->child, command.argument);
            carried_out(helper, &command);
        } else if (!signal)
            wait_for_news(helper);
    }
    /* How much a process wrote is not known before it is over. */
    helper->printed |= helper->left || written < 0 || bytes_written() != written;
    record_exited(helper->run, code, helper->killed);
    return code;
}

static bool ends_a_hold(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/* Wait for the worker's word.  Returns the exit code of the container, or RUN_COMMAND. */
static int hold(struct helper *helper, enum kind kind)
{
    struct command command;
    int signal;

    be_notified(helper);
    record_held(kind == BEFORE ? helper->run + 1 : helper->run, kind);
    for (;;) {
        while ((signal = next_signal(helper)))
            if (ends_a_hold(signal))
                return 128 + signal;
        reap(helper);
        if (ordered(helper, &command) && (command.verb != VERB_RUN || kind == BEFORE)) {
            carried_out(helper, &command);
            if (command.verb != VERB_SIGNAL)
                return RUN_COMMAND;
        }
        wait_for_news(helper);
    }
}

static int hold_as_armed(struct helper *helper, int code)
{
    unsigned armed = policy();

    if (code && armed & (HOLD_ON_FAILURE | HOLD_AFTER))
        return hold(helper, FAILURE);
    if (!code && armed & HOLD_AFTER)
        return hold(helper, AFTER);
    return code;
}

/* What to do first; in a container that was started again the command never runs again by itself. */
static int resume(struct helper *helper, const struct past *past)
{
    unsigned armed = policy();
    bool before = past->phase == NEW || (past->phase == HELD && past->kind == BEFORE);

    if (past->phase == RUNNING)
        record_unseen_end(past->run, past->code);
    if (before && armed & HOLD_BEFORE)
        return hold(helper, BEFORE);
    if (armed & HOLD_AT_ONCE)
        return hold(helper, before && past->phase == HELD ? BEFORE : FAILURE);
    return past->phase == NEW ? RUN_COMMAND : past->code;
}

int supervise(void)
{
    struct past past = recall();
    struct helper helper = begin(&past);
    int code = resume(&helper, &past);

    while (code == RUN_COMMAND)
        code = hold_as_armed(&helper, run(&helper));
    if (helper.printed)
        be_heard(helper.began);
    return code;
}
