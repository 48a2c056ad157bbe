#define _GNU_SOURCE
#include "shell.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "program.h"
#include "status.h"

#define MAX_PROMPT 80

/* What a shell would expand in its prompt, and what a terminal would obey, is none of a name. */
static void set_prompt(void)
{
    char name[MAX_PROMPT], prompt[MAX_PROMPT + 32], command[sizeof prompt + 64];

    if (read_end(INFO "/prompt", name, sizeof name) < 0)
        strcpy(name, "tinkbox");
    name[strcspn(name, "\n")] = '\0';
    for (char *each = name; *each; each++)
        if (!isalnum((unsigned char)*each) && !strchr(" /._:-", *each))
            *each = '?';
    snprintf(prompt, sizeof prompt, "[%s] $PWD %c ", name, geteuid() ? '$' : '#');
    setenv("PS1", prompt, 1);
    /* The start-up files of most images give bash another prompt, but come before this. */
    snprintf(command, sizeof command, "PS1='%s'; unset PROMPT_COMMAND", prompt);
    setenv("PROMPT_COMMAND", command, 0);
}

static void extend_path(void)
{
    const char *path = getenv("PATH");
    char *extended;

    if (!path)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    if (asprintf(&extended, "%s:" SCRIPTS ":" APPLETS, path) > 0)
        setenv("PATH", extended, 1);
}

static bool is_plain(const char *word)
{
    for (; *word; word++)
        if (!isalnum((unsigned char)*word) && !strchr("/._+-", *word))
            return false;
    return true;
}

/* Our shell would rather use its own of these than look for the image's; what is built into every shell may stay so. */
static bool is_builtin(const char *name)
{
    static const char *const BUILTINS[] = {"echo", "printf", "test", "kill", "pwd", "true", "false"};

    for (size_t each = 0; each < sizeof BUILTINS / sizeof *BUILTINS; each++)
        if (!strcmp(name, BUILTINS[each]))
            return true;
    return false;
}

static void write_aliases(int file)
{
    DIR *applets = opendir(APPLETS);
    struct dirent *applet;
    char path[PATH_MAX];

    if (!applets)
        return;
    while ((applet = readdir(applets)))
        if (isalnum((unsigned char)*applet->d_name) && is_plain(applet->d_name) && !is_builtin(applet->d_name) &&
            !find_program(applet->d_name, path, sizeof path) && strncmp(path, HOME "/", sizeof HOME) && is_plain(path))
            dprintf(file, "alias %s=%s\n", applet->d_name, path);
    closedir(applets);
}

/* Our shell prefers its own tools to the image's: what it reads first tells it otherwise. */
static void prefer_tools_of_image(void)
{
    enum { FIRST_LINES = 9 }; /* the highest number that a shell's redirections take */
    int file = memfd_create("aliases", MFD_CLOEXEC);

    if (file < 0)
        return;
    write_aliases(file);
    dprintf(file, "unset ENV\nexec %d<&-\n", FIRST_LINES);
    if (dup2(file, FIRST_LINES) == FIRST_LINES)
        setenv("ENV", "/proc/self/fd/9", 1);
}

static int complain(const char *program, struct failure failure)
{
    const char *what = failure.interpreter ? ": its interpreter" : "";

    dprintf(STDERR_FILENO, "%s%s: %s\n", program, what, strerror(failure.error));
    return code_of_failure(failure.error);
}

int shell(const char *session, char **words)
{
    static const char *const SHELLS[] = {"/bin/bash", "/bin/sh"};

    setenv("TINKBOX_SHELL", session, 1);
    extend_path();
    if (words[0])
        return complain(words[0], execute(words));
    set_prompt();
    for (size_t each = 0; each < sizeof SHELLS / sizeof *SHELLS; each++)
        execl(SHELLS[each], strrchr(SHELLS[each], '/') + 1, (char *)NULL);
    prefer_tools_of_image();
    execl(BUSYBOX, "sh", (char *)NULL);
    return complain(BUSYBOX, (struct failure){.error = 2});
}
