/* What the command prints goes to the engine by itself; this only sees to it that the engine has begun to listen. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <time.h>

/* How much this process wrote, and those that it started and has waited for; -1 where nobody tells. */
long long bytes_written(void);

/* Wait until a container that began then is so old that every engine that was measured listens to it. */
void be_heard(struct timespec began);

#endif
