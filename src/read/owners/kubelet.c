#include "read/owners/kubelet.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/symbol.h"
#include "life/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ASK_EVERY_NS (10 * NS_PER_S)
#define ANSWER_NS (5 * NS_PER_S)
#define OLD_NS (60 * NS_PER_S)
#define PREFIX 5 /* gRPC: compressed or not, and the length */

/* NGHTTP2_FUNCTION(name): what is used of libnghttp2, without its nghttp2_. */
#define NGHTTP2_FUNCTIONS(F)                                                                       \
        F(session_callbacks_new)                                                                   \
        F(session_callbacks_del)                                                                   \
        F(session_callbacks_set_on_data_chunk_recv_callback)                                       \
        F(session_callbacks_set_on_stream_close_callback)                                          \
        F(session_client_new)                                                                      \
        F(session_del)                                                                             \
        F(session_mem_send)                                                                        \
        F(session_mem_recv)                                                                        \
        F(session_want_read)                                                                       \
        F(session_want_write)                                                                      \
        F(submit_request)                                                                          \
        F(submit_settings)

struct nghttp2_api {
#define F(name) __typeof__(nghttp2_##name) *name;
        NGHTTP2_FUNCTIONS(F)
#undef F
};

struct kubelet {
        pthread_t thread;
        pthread_mutex_t lock;
        int stop_fd;
        char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
        struct nghttp2_api h2;

        /* Under the lock. */
        struct allocation list[KUBELET_DEVICES_MAX];
        size_t n;
        int64_t reported_ns; /* monotonic; 0 never */

        /* The thread's own. */
        struct allocation fresh[KUBELET_DEVICES_MAX];
        unsigned char *answer;
        size_t answer_n;
        bool closed, whole;
};

static bool load_nghttp2(struct nghttp2_api *api)
{
        void *library = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
#define F(name)                                                                                    \
        if (!symbol_find(library, "nghttp2_" #name, &api->name))                                   \
                return false;
        NGHTTP2_FUNCTIONS(F)
#undef F
        return true;
}

/* --- one question ------------------------------------------------------------------------------
 */

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t n, void *arg)
{
        struct kubelet *k = arg;
        (void)session;
        (void)flags;
        (void)stream;
        if (n > KUBELET_ANSWER_MAX - k->answer_n)
                return NGHTTP2_ERR_CALLBACK_FAILURE;
        memcpy(k->answer + k->answer_n, data, n);
        k->answer_n += n;
        return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *arg)
{
        struct kubelet *k = arg;
        (void)session;
        (void)stream;
        k->closed = true;
        k->whole = error == NGHTTP2_NO_ERROR;
        return 0;
}

/* An empty message: all pods. */
static ssize_t give_question(nghttp2_session *session, int32_t stream, uint8_t *buf, size_t n,
                             uint32_t *flags, nghttp2_data_source *source, void *arg)
{
        (void)session;
        (void)stream;
        (void)source;
        (void)arg;
        if (n < PREFIX)
                return NGHTTP2_ERR_DEFERRED;
        memset(buf, 0, PREFIX);
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        return PREFIX;
}

#define HEADER(name, value)                                                                        \
        {                                                                                          \
                (uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, sizeof(name) - 1,         \
                    sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE                                        \
        }

static bool send_list_request(struct kubelet *k, nghttp2_session *session)
{
        static const nghttp2_nv headers[] = {
            HEADER(":method", "POST"),
            HEADER(":scheme", "http"),
            HEADER(":path", "/v1.PodResourcesLister/List"),
            HEADER(":authority", "localhost"),
            HEADER("content-type", "application/grpc"),
            HEADER("te", "trailers"),
        };
        nghttp2_data_provider question = {.read_callback = give_question};
        /* The answer may be larger than HTTP/2's first window, and is the only stream. */
        static const nghttp2_settings_entry settings[] = {
            {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, KUBELET_ANSWER_MAX},
            {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        };
        return k->h2.submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) ==
                   0 &&
               k->h2.submit_request(session, NULL, headers, ARRAY_LEN(headers), &question, k) > 0;
}

static bool wait_for(struct kubelet *k, int fd, short events, int64_t until)
{
        struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = k->stop_fd, .events = POLLIN}};
        int64_t left = until - clock_mono_ns();
        return left > 0 && poll(fds, 2, (int)(left / NS_PER_MS) + 1) > 0 && !fds[1].revents;
}

static bool send_all(struct kubelet *k, nghttp2_session *session, int fd, int64_t until)
{
        const uint8_t *data;
        ssize_t n;
        while ((n = k->h2.session_mem_send(session, &data)) > 0) {
                while (n > 0) {
                        ssize_t wrote = send(fd, data, (size_t)n, MSG_NOSIGNAL);
                        if (wrote < 0 && (errno != EAGAIN || !wait_for(k, fd, POLLOUT, until)))
                                return false;
                        data += wrote > 0 ? wrote : 0;
                        n -= wrote > 0 ? wrote : 0;
                }
        }
        return n == 0;
}

static bool exchange_frames(struct kubelet *k, nghttp2_session *session, int fd)
{
        uint8_t buf[16384];
        int64_t until = clock_mono_ns() + ANSWER_NS;
        while (!k->closed) {
                if (!send_all(k, session, fd, until) || !wait_for(k, fd, POLLIN, until))
                        return false;
                ssize_t n = recv(fd, buf, sizeof(buf), 0);
                if (n <= 0 || k->h2.session_mem_recv(session, buf, (size_t)n) < 0)
                        return false;
        }
        return true;
}

static int connect_socket(const char *path)
{
        struct sockaddr_un sun = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        memcpy(sun.sun_path, path, sizeof(sun.sun_path));
        if (fd >= 0 && connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
                close(fd);
                fd = -1;
        }
        return fd;
}

/* True with the answer's message in k->answer. */
static bool list_pods(struct kubelet *k)
{
        nghttp2_session_callbacks *callbacks;
        nghttp2_session *session = NULL;
        CLEANUP(closep) int fd = connect_socket(k->socket);
        if (fd < 0 || k->h2.session_callbacks_new(&callbacks) != 0)
                return false;
        k->h2.session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        k->h2.session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        k->answer_n = 0;
        k->closed = k->whole = false;
        bool done = k->h2.session_client_new(&session, callbacks, k) == 0 &&
                    send_list_request(k, session) && exchange_frames(k, session, fd);
        k->h2.session_del(session);
        k->h2.session_callbacks_del(callbacks);
        if (!done || !k->whole || k->answer_n < PREFIX || k->answer[0] != 0)
                return false;
        size_t n = (size_t)k->answer[1] << 24 | (size_t)k->answer[2] << 16 |
                   (size_t)k->answer[3] << 8 | k->answer[4];
        return n == k->answer_n - PREFIX;
}

/* --- the thread ---------------------------------------------------------------------------------
 */

static void *run_kubelet(void *arg)
{
        struct kubelet *k = arg;
        struct pollfd stop = {.fd = k->stop_fd, .events = POLLIN};
        while (!stop.revents) {
                int n = list_pods(k) ? kubelet_parse(k->answer + PREFIX, k->answer_n - PREFIX,
                                                     k->fresh, KUBELET_DEVICES_MAX)
                                     : -1;
                if (n >= 0) {
                        pthread_mutex_lock(&k->lock);
                        memcpy(k->list, k->fresh, (size_t)n * sizeof(*k->list));
                        k->n = (size_t)n;
                        k->reported_ns = clock_mono_ns();
                        pthread_mutex_unlock(&k->lock);
                }
                poll(&stop, 1, (int)(ASK_EVERY_NS / NS_PER_MS));
        }
        return NULL;
}

struct kubelet *kubelet_open(const char *socket)
{
        struct kubelet *k = calloc(1, sizeof(*k));
        if (!k)
                return NULL;
        pthread_mutex_init(&k->lock, NULL);
        k->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        k->answer = malloc(KUBELET_ANSWER_MAX);
        bool fits = strlen(socket) < sizeof(k->socket);
        snprintf(k->socket, sizeof(k->socket), "%.*s", (int)sizeof(k->socket) - 1, socket);
        if (!fits || k->stop_fd < 0 || !k->answer || !load_nghttp2(&k->h2) ||
            life_start_thread(run_kubelet, k, &k->thread) < 0) {
                closep(&k->stop_fd);
                free(k->answer);
                free(k);
                return NULL;
        }
        return k;
}

void kubelet_close(struct kubelet *k)
{
        if (!k)
                return;
        life_wake(k->stop_fd);
        pthread_join(k->thread, NULL);
        closep(&k->stop_fd);
        pthread_mutex_destroy(&k->lock);
        free(k->answer);
        free(k);
}

size_t kubelet_take(struct kubelet *k, struct allocation *ret, size_t max)
{
        pthread_mutex_lock(&k->lock);
        bool old = k->reported_ns == 0 || clock_mono_ns() - k->reported_ns > OLD_NS;
        size_t n = old ? 0 : MIN(k->n, max);
        if (n > 0)
                memcpy(ret, k->list, n * sizeof(*ret));
        pthread_mutex_unlock(&k->lock);
        return n;
}
