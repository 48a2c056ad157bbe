/* A boot storm: machines that netboot at once, as cheaply as one process can play them.
 *
 * Each behaves as UEFI firmware does: DISCOVER and REQUEST (the packets are recorded ones, given as files), sent again
 * after 4, 8, 16 and 32 s (PXE 2.1 §2.4.6); the loader by TFTP with a size probe before, sent again after 4 s, six
 * times (EDK2); DHCP again as iPXE; its script and a kernel by HTTP.  Content is counted, not looked at.
 *
 * Simplified: all machines share one network interface and so one hardware address on the wire, in DHCP each has its
 * own; for that every DHCP packet asks for a broadcast answer, and one socket hears them all.  The loader and the kernel
 * are those that the command line names.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_PACKET 1500
#define OPTIONS_AT 240
#define BLOCK 1468
#define TFTP_SECONDS 4
#define TFTP_TRIES 7
#define DHCP_TRIES 5
#define HTTP_SECONDS 120
#define HEADER_MAX 4096

enum stage { IDLE, DISCOVER, REQUEST, PROBE, LOADER, IPXE_DISCOVER, IPXE_REQUEST, SCRIPT, KERNEL, DONE, FAILED };
enum dhcp_option { WANTED = 50, MESSAGE = 53, SERVER = 54, CLIENT_ID = 61, FILE_NAME = 67, OVER = 255 };
enum dhcp_message { OFFER = 2, ACK = 5 };
enum tftp { RRQ = 1, DATA = 3, ACKNOWLEDGE = 4, ERROR = 5, OACK = 6 };

struct packet {
    unsigned char bytes[MAX_PACKET];
    size_t length;
};

struct machine {
    enum stage stage;
    double began, ended, due, reached[FAILED + 1];
    int tries, fd;
    bool joined; /* the socket with its peer: a TFTP server may answer from another port than the one that was asked */
    uint32_t expected; /* the next block */
    unsigned window;
    unsigned char server[4];
    char file[256];
    char header[HEADER_MAX];
    size_t header_length;
    long long left; /* of the body; negative: the header is not complete */
    long long got;
};

static struct packet firmware_discover, firmware_request, ipxe_discover, ipxe_request;
static struct machine *machines;
static int number, running, again, dhcp, queue;
static unsigned window_size;
static struct in_addr server, first;
static const char *loader, *kernel;

static double now(void)
{
    struct timespec clock;

    clock_gettime(CLOCK_MONOTONIC, &clock);
    return (double)clock.tv_sec + (double)clock.tv_nsec / 1e9;
}

/* A file of hexadecimal digits under lines that begin with '#'. */
static struct packet load(const char *path)
{
    struct packet read = {.length = 0};
    char line[512];
    unsigned byte;
    FILE *file = fopen(path, "r");

    if (!file)
        err(1, "%s", path);
    while (fgets(line, sizeof line, file))
        for (char *at = line; *line != '#' && sscanf(at, "%2x", &byte) == 1 && read.length < MAX_PACKET; at += 2)
            read.bytes[read.length++] = (unsigned char)byte;
    fclose(file);
    if (read.length < OPTIONS_AT)
        errx(1, "%s is no DHCP packet", path);
    return read;
}

static unsigned char *option(unsigned char *bytes, size_t length, unsigned code)
{
    for (size_t at = OPTIONS_AT; at + 1 < length && bytes[at] != OVER; at += bytes[at] ? 2U + bytes[at + 1] : 1U)
        if (bytes[at] == code && at + 2U + bytes[at + 1] <= length)
            return bytes + at;
    return NULL;
}

static struct sockaddr_in address_of(const struct machine *machine, uint16_t port)
{
    struct in_addr address = {htonl(ntohl(first.s_addr) + (uint32_t)(machine - machines))};

    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
}

static void leave_socket(struct machine *machine)
{
    if (machine->fd >= 0)
        close(machine->fd);
    machine->fd = -1;
}

static void end(struct machine *machine, enum stage how, const char *why)
{
    leave_socket(machine);
    if (how == FAILED)
        fprintf(stderr, "machine %d failed at stage %d after %d tries: %s\n", (int)(machine - machines), machine->stage,
                machine->tries, why);
    machine->stage = how;
    machine->ended = now();
    running--;
}

static void enter(struct machine *machine, enum stage stage)
{
    machine->stage = stage;
    machine->tries = 0;
    machine->reached[stage] = now();
}

/* --- DHCP */

static void send_dhcp(struct machine *machine)
{
    bool ipxe = machine->stage >= IPXE_DISCOVER;
    bool request = machine->stage == REQUEST || machine->stage == IPXE_REQUEST;
    struct packet packet = request ? (ipxe ? ipxe_request : firmware_request) : ipxe ? ipxe_discover : firmware_discover;
    uint32_t index = (uint32_t)(machine - machines), xid = htonl((uint32_t)machine->stage << 24 | index);
    unsigned char mac[6] = {0x0a, 0, 0, 0, (unsigned char)(index >> 8), (unsigned char)index};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(67), .sin_addr.s_addr = INADDR_BROADCAST};
    struct in_addr wanted = address_of(machine, 0).sin_addr;
    unsigned char *found;

    memcpy(packet.bytes + 4, &xid, 4);
    packet.bytes[10] = 0x80;
    memcpy(packet.bytes + 28, mac, 6);
    if ((found = option(packet.bytes, packet.length, CLIENT_ID)) && found[1] == 7)
        memcpy(found + 3, mac, 6);
    if (request && (found = option(packet.bytes, packet.length, WANTED)))
        memcpy(found + 2, &wanted, 4);
    if (request && (found = option(packet.bytes, packet.length, SERVER)))
        memcpy(found + 2, machine->server, 4);
    if (sendto(dhcp, packet.bytes, packet.length, 0, (struct sockaddr *)&to, sizeof to) < 0 && errno != EAGAIN &&
        errno != ENOBUFS)
        err(1, "sending DHCP");
    machine->due = now() + (4 << machine->tries++);
}

static void fetch(struct machine *machine);

static void heard_dhcp(unsigned char *bytes, size_t length)
{
    unsigned char *message, *file, *from;
    struct machine *machine;
    uint32_t xid, offered;

    if (length < OPTIONS_AT || bytes[0] != 2)
        return;
    memcpy(&xid, bytes + 4, 4);
    xid = ntohl(xid);
    if ((xid & 0xffffff) >= (uint32_t)number)
        return;
    machine = machines + (xid & 0xffffff);
    if (machine->stage != (enum stage)(xid >> 24) || !(message = option(bytes, length, MESSAGE)))
        return; /* of an earlier stage, answered twice */
    if (message[2] != (machine->stage == DISCOVER || machine->stage == IPXE_DISCOVER ? OFFER : ACK))
        return;
    memcpy(&offered, bytes + 16, 4);
    if (offered != address_of(machine, 0).sin_addr.s_addr) {
        end(machine, FAILED, "another address than the reserved one");
        return;
    }
    if ((from = option(bytes, length, SERVER)))
        memcpy(machine->server, from + 2, 4);
    file = option(bytes, length, FILE_NAME);
    if (file)
        snprintf(machine->file, sizeof machine->file, "%.*s", file[1], (char *)file + 2);
    else
        snprintf(machine->file, sizeof machine->file, "%.128s", (char *)bytes + 108);
    enter(machine, (enum stage)(machine->stage + 1));
    if (machine->stage == REQUEST || machine->stage == IPXE_REQUEST)
        send_dhcp(machine);
    else if (!*machine->file)
        end(machine, FAILED, "no boot file");
    else
        fetch(machine);
}

/* --- TFTP and HTTP */

static void open_socket(struct machine *machine, int type)
{
    struct sockaddr_in own = address_of(machine, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr = server};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = machine};
    int size = 256 << 10, without_port = 1;

    leave_socket(machine);
    machine->fd = socket(AF_INET, type | SOCK_NONBLOCK, 0);
    if (machine->fd < 0)
        err(1, "socket");
    setsockopt(machine->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(machine->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &without_port, sizeof without_port);
    if (bind(machine->fd, (struct sockaddr *)&own, sizeof own) < 0)
        err(1, "bind %s", inet_ntoa(own.sin_addr));
    machine->joined = type == SOCK_STREAM;
    if (machine->joined && connect(machine->fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
        err(1, "connect");
    if (machine->joined)
        event.events |= EPOLLOUT;
    if (epoll_ctl(queue, EPOLL_CTL_ADD, machine->fd, &event) < 0)
        err(1, "epoll_ctl");
}

static void acknowledge(struct machine *machine, uint32_t block)
{
    unsigned char bytes[4] = {0, ACKNOWLEDGE, (unsigned char)(block >> 8), (unsigned char)block};

    if (send(machine->fd, bytes, sizeof bytes, 0) < 0 && errno != EAGAIN && errno != ECONNREFUSED)
        err(1, "sending TFTP");
}

static char *word(char *at, const char *text)
{
    return stpcpy(at, text) + 1;
}

static void ask_tftp(struct machine *machine)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(69), .sin_addr = server};
    char bytes[512] = {0, RRQ}, number_text[16], *at = word(word(bytes + 2, loader), "octet");

    if (machine->stage == PROBE)
        at = word(word(at, "tsize"), "0");
    snprintf(number_text, sizeof number_text, "%d", BLOCK);
    at = word(word(at, "blksize"), number_text);
    snprintf(number_text, sizeof number_text, "%u", window_size);
    if (window_size > 1)
        at = word(word(at, "windowsize"), number_text);
    if (sendto(machine->fd, bytes, (size_t)(at - bytes), 0, (struct sockaddr *)&to, sizeof to) < 0 && errno != EAGAIN &&
        errno != ECONNREFUSED)
        err(1, "sending TFTP");
}

/* Begin what is to be fetched now, or repeat what was said last. */
static void fetch(struct machine *machine)
{
    if (machine->stage == SCRIPT) {
        machine->left = -1;
        machine->header_length = 0;
        machine->due = now() + HTTP_SECONDS;
        open_socket(machine, SOCK_STREAM);
        return;
    }
    machine->due = now() + TFTP_SECONDS;
    if (machine->tries++ == 0) {
        machine->expected = 0;
        machine->window = 1;
        open_socket(machine, SOCK_DGRAM);
    }
    if (machine->expected)
        acknowledge(machine, machine->expected - 1);
    else
        ask_tftp(machine);
}

static void heard_block(struct machine *machine, const unsigned char *bytes, ssize_t length)
{
    uint32_t block = (uint32_t)(bytes[2] << 8 | bytes[3]);

    if (block != (machine->expected & 0xffff))
        return; /* lost before it, or once more: the timer asks again */
    machine->got += length - 4;
    machine->expected++;
    machine->tries = 1;
    machine->due = now() + TFTP_SECONDS;
    if (length - 4 < BLOCK) {
        acknowledge(machine, block);
        leave_socket(machine);
        enter(machine, IPXE_DISCOVER);
        send_dhcp(machine);
    } else if (block % machine->window == 0) {
        acknowledge(machine, block);
    }
}

static void heard_tftp(struct machine *machine)
{
    unsigned char bytes[256];
    struct sockaddr_in from;
    socklen_t from_length = sizeof from;
    ssize_t length;
    enum stage stage = machine->stage;

    while (machine->fd >= 0 && machine->stage == stage) {
        length = recvfrom(machine->fd, bytes, sizeof bytes, MSG_TRUNC, (struct sockaddr *)&from, &from_length);
        if (length < 4)
            return;
        if (!machine->joined && connect(machine->fd, (struct sockaddr *)&from, from_length) < 0)
            err(1, "connect");
        machine->joined = true;
        if (bytes[1] == DATA && stage == LOADER && machine->expected) {
            heard_block(machine, bytes, length);
        } else if (bytes[1] == OACK && stage == PROBE) {
            unsigned char gone[] = "\0\5\0\0User aborted the transfer";

            bytes[0] = 0;
            (void)!send(machine->fd, gone, sizeof gone, 0);
            enter(machine, LOADER);
            fetch(machine);
        } else if (bytes[1] == OACK && stage == LOADER && machine->expected <= 1) {
            char *agreed = memmem(bytes + 2, (size_t)length - 2, "windowsize", 11);

            machine->window = agreed ? (unsigned)atoi(agreed + 11) : 1;
            machine->expected = 1;
            acknowledge(machine, 0);
            machine->due = now() + TFTP_SECONDS;
        } else if (bytes[1] == ERROR) {
            end(machine, FAILED, (char *)bytes + 4);
        }
    }
}

static void ask_http(struct machine *machine)
{
    const char *host = strstr(machine->file, "://"), *script = host ? strchr(host + 3, '/') : NULL;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = machine};
    char request[512];
    int length;

    if (!script) {
        end(machine, FAILED, "the boot file is no URL");
        return;
    }
    length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive\r\n\r\n",
                      machine->stage == KERNEL ? kernel : script, inet_ntoa(server));
    epoll_ctl(queue, EPOLL_CTL_MOD, machine->fd, &event);
    if (send(machine->fd, request, (size_t)length, MSG_NOSIGNAL) != length)
        end(machine, FAILED, strerror(errno));
}

static void heard_header(struct machine *machine, ssize_t *length)
{
    char *body, *said;
    size_t header;

    machine->header[machine->header_length] = 0;
    body = strstr(machine->header, "\r\n\r\n");
    *length = 0;
    if (!body)
        return;
    header = (size_t)(body + 4 - machine->header);
    said = strcasestr(machine->header, "\ncontent-length:");
    if (strncmp(machine->header + 8, " 200 ", 5) != 0 || !said) {
        machine->header[40] = 0;
        end(machine, FAILED, machine->header);
        return;
    }
    machine->left = atoll(said + 16);
    *length = (ssize_t)(machine->header_length - header);
}

static void heard_http(struct machine *machine, unsigned events)
{
    static char scrap[1 << 20];
    ssize_t length;

    if (events & EPOLLOUT) {
        ask_http(machine);
        return;
    }
    if (machine->left < 0) {
        length = recv(machine->fd, machine->header + machine->header_length,
                      HEADER_MAX - 1 - machine->header_length, 0);
        if (length > 0) {
            machine->header_length += (size_t)length;
            heard_header(machine, &length);
        } else if (length == 0 || errno != EAGAIN) {
            end(machine, FAILED, length ? strerror(errno) : "the connection was closed");
        }
    } else {
        length = recv(machine->fd, scrap, sizeof scrap, MSG_TRUNC); /* TCP: thrown away unread */
        if (length == 0 || (length < 0 && errno != EAGAIN))
            end(machine, FAILED, length ? strerror(errno) : "the connection was closed");
    }
    if (machine->stage >= DONE || length < 0)
        return;
    machine->got += length;
    machine->due = now() + HTTP_SECONDS;
    if (machine->left < 0 || (machine->left -= length) > 0)
        return;
    machine->left = -1;
    machine->header_length = 0;
    if (machine->stage == KERNEL || !*kernel) {
        end(machine, DONE, "");
        return;
    }
    enter(machine, KERNEL);
    ask_http(machine);
}

/* --- all of it */

static void look_at_clocks(double time)
{
    for (struct machine *machine = machines; machine < machines + number; machine++) {
        bool asks = machine->stage == DISCOVER || machine->stage == REQUEST || machine->stage == IPXE_DISCOVER ||
                    machine->stage == IPXE_REQUEST;

        if (machine->stage >= DONE || time < machine->due)
            continue;
        if (machine->stage == IDLE) {
            machine->began = time;
            enter(machine, DISCOVER);
            send_dhcp(machine);
        } else if (machine->tries >= (asks ? DHCP_TRIES : TFTP_TRIES) || machine->stage >= SCRIPT) {
            end(machine, FAILED, "silence");
        } else {
            again++;
            if (asks)
                send_dhcp(machine);
            else
                fetch(machine);
        }
    }
}

static void listen_for_dhcp(const char *device)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(68)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    int on = 1, size = 16 << 20;

    dhcp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    setsockopt(dhcp, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
    setsockopt(dhcp, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
    if (setsockopt(dhcp, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)) < 0 ||
        bind(dhcp, (struct sockaddr *)&own, sizeof own) < 0 || epoll_ctl(queue, EPOLL_CTL_ADD, dhcp, &event) < 0)
        err(1, "port 68 on %s", device);
}

static void report(void)
{
    const char *names[] = {"", "discover", "request", "probe", "loader", "ipxe_discover", "ipxe_request", "script", "kernel"};

    printf("{\"again\": %d, \"machines\": [", again);
    for (struct machine *machine = machines; machine < machines + number; machine++) {
        printf("%s\n{\"done\": %s, \"began\": %.4f, \"ended\": %.4f, \"bytes\": %lld", machine == machines ? "" : ",",
               machine->stage == DONE ? "true" : "false", machine->began, machine->ended, machine->got);
        for (int stage = DISCOVER; stage <= KERNEL; stage++)
            if (machine->reached[stage] > 0)
                printf(", \"%s\": %.4f", names[stage], machine->reached[stage]);
        printf("}");
    }
    printf("]}\n");
}

int main(int count, char **words)
{
    struct rlimit files;
    double began, ramp, looked = 0;

    if (count != 14)
        errx(2, "usage: storm DEVICE SERVER FIRST-ADDRESS MACHINES WINDOW RAMP-SECONDS DEADLINE-SECONDS LOADER KERNEL-PATH "
                "DISCOVER REQUEST IPXE-DISCOVER IPXE-REQUEST");
    if (!inet_aton(words[2], &server) || !inet_aton(words[3], &first))
        errx(2, "no address");
    number = running = atoi(words[4]);
    window_size = (unsigned)atoi(words[5]);
    ramp = atof(words[6]);
    loader = words[8];
    kernel = words[9];
    firmware_discover = load(words[10]);
    firmware_request = load(words[11]);
    ipxe_discover = load(words[12]);
    ipxe_request = load(words[13]);
    machines = calloc((size_t)number, sizeof *machines);
    queue = epoll_create1(0);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    if (!machines || queue < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
        err(1, "beginning");
    listen_for_dhcp(words[1]);
    began = now();
    for (int each = 0; each < number; each++) {
        machines[each].due = began + ramp * each / number;
        machines[each].fd = -1;
    }
    while (running > 0 && now() < began + atof(words[7])) {
        struct epoll_event events[256];
        /* Asleep it would have to be woken, which costs the server's processor: real machines are not on it. */
        int ready = epoll_wait(queue, events, 256, 0);
        double time = now();

        for (int each = 0; each < ready; each++) {
            struct machine *machine = events[each].data.ptr;

            if (!machine) {
                unsigned char bytes[MAX_PACKET];
                ssize_t length;

                while ((length = recv(dhcp, bytes, sizeof bytes, 0)) > 0)
                    heard_dhcp(bytes, (size_t)length);
            } else if (machine->fd >= 0 && machine->stage >= SCRIPT) {
                heard_http(machine, events[each].events);
            } else if (machine->fd >= 0) {
                heard_tftp(machine);
            }
        }
        if (time - looked >= 0.01) {
            looked = time;
            look_at_clocks(time);
        }
    }
    for (struct machine *machine = machines; machine < machines + number; machine++)
        if (machine->stage < DONE)
            end(machine, FAILED, "not within the deadline");
    report();
    return 0;
}
