/* run/status: what happened to the action's command so far, one line per fact. */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>

enum kind { BEFORE, FAILURE, AFTER };
enum phase { NEW, RUNNING, ENDED, HELD };

/* What the facts come to; run counts from 1, code is how the last run ended, command the last one carried out. */
struct past {
    enum phase phase;
    unsigned long run;
    int code;
    enum kind kind;
    unsigned long command;
};

struct past recall(void);

/* The code of a run that could not begin. */
int code_of_failure(int error);

void record_started(unsigned long run, int process);
void record_failure(unsigned long run, int error, int interpreter);
void record_exited(unsigned long run, int code, bool killed);
/* It ended together with the helper that had started it. */
void record_unseen_end(unsigned long run, int code);
void record_held(unsigned long run, enum kind kind);
void record_command(unsigned long sequence);

#endif
