/* Doors to GnuTLS for the libmicrohttpd that is linked in: the library is loaded when somebody
 * serves with TLS.
 *
 * libmicrohttpd starts GnuTLS with the program; here that does nothing, so that other commands
 * start as fast as before. Where GnuTLS is not installed every call fails, and portable_has_tls
 * tells so beforehand. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define FAILED (-1)

bool portable_has_tls(void);

/* POSIX lets a function's address travel as an object's. */
static bool find(const char *name, void *ret)
{
        void *library = dlopen("libgnutls.so.30", RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, name) : NULL;
        memcpy(ret, &symbol, sizeof(symbol));
        return symbol != NULL;
}

bool portable_has_tls(void)
{
        void *found;
        return find("gnutls_handshake", &found);
}

#define DOOR(type, name, params, args, missing)                                                    \
        type name params;                                                                          \
        type name params                                                                           \
        {                                                                                          \
                static type(*real) params;                                                         \
                if (!real && !find(#name, &real))                                                  \
                        return missing;                                                            \
                return real args;                                                                  \
        }
#define DOOR_VOID(name, params, args)                                                              \
        void name params;                                                                          \
        void name params                                                                           \
        {                                                                                          \
                static void(*real) params;                                                         \
                if (real || find(#name, &real))                                                    \
                        real args;                                                                 \
        }

int gnutls_global_init(void);
int gnutls_global_init(void)
{
        return 0;
}

void gnutls_global_deinit(void);
void gnutls_global_deinit(void)
{
}

/* A variable there: what allocates what its callers free. */
extern void *(*gnutls_malloc)(size_t);
void *(*gnutls_malloc)(size_t) = malloc;

/* Handles are pointers, enumerations are ints. */
DOOR(int, gnutls_alpn_set_protocols, (void *s, const void *list, unsigned n, unsigned flags),
     (s, list, n, flags), FAILED)
DOOR(int, gnutls_bye, (void *s, int how), (s, how), FAILED)
DOOR(int, gnutls_certificate_allocate_credentials, (void **ret), (ret), FAILED)
DOOR_VOID(gnutls_certificate_free_credentials, (void *c), (c))
DOOR_VOID(gnutls_certificate_server_set_request, (void *s, int request), (s, request))
DOOR_VOID(gnutls_certificate_set_dh_params, (void *c, void *params), (c, params))
DOOR_VOID(gnutls_certificate_set_retrieve_function2, (void *c, void (*f)(void)), (c, f))
DOOR_VOID(gnutls_certificate_set_retrieve_function3, (void *c, void (*f)(void)), (c, f))
DOOR(int, gnutls_certificate_set_x509_key_mem,
     (void *c, const void *cert, const void *key, int type), (c, cert, key, type), FAILED)
DOOR(int, gnutls_certificate_set_x509_key_mem2,
     (void *c, const void *cert, const void *key, int type, const char *pass, unsigned flags),
     (c, cert, key, type, pass, flags), FAILED)
DOOR(int, gnutls_certificate_set_x509_trust_mem, (void *c, const void *ca, int type), (c, ca, type),
     FAILED)
DOOR(int, gnutls_certificate_verify_peers2, (void *s, unsigned *status), (s, status), FAILED)
DOOR(int, gnutls_cipher_get, (void *s), (s), 0)
DOOR(int, gnutls_credentials_set, (void *s, int type, void *c), (s, type, c), FAILED)
DOOR_VOID(gnutls_deinit, (void *s), (s))
DOOR_VOID(gnutls_dh_params_deinit, (void *params), (params))
DOOR(int, gnutls_dh_params_import_pkcs3, (void *params, const void *from, int format),
     (params, from, format), FAILED)
DOOR(int, gnutls_dh_params_init, (void **ret), (ret), FAILED)
DOOR(int, gnutls_handshake, (void *s), (s), FAILED)
DOOR(int, gnutls_init, (void **ret, unsigned flags), (ret, flags), FAILED)
DOOR_VOID(gnutls_priority_deinit, (void *p), (p))
DOOR(int, gnutls_priority_init, (void **ret, const char *text, const char **at), (ret, text, at),
     FAILED)
DOOR(int, gnutls_priority_set, (void *s, void *p), (s, p), FAILED)
DOOR(int, gnutls_protocol_get_version, (void *s), (s), 0)
DOOR(int, gnutls_psk_allocate_server_credentials, (void **ret), (ret), FAILED)
DOOR_VOID(gnutls_psk_free_server_credentials, (void *c), (c))
DOOR_VOID(gnutls_psk_set_server_credentials_function, (void *c, void (*f)(void)), (c, f))
DOOR(size_t, gnutls_record_check_pending, (void *s), (s), 0)
DOOR(int, gnutls_record_get_direction, (void *s), (s), 0)
DOOR(ssize_t, gnutls_record_recv, (void *s, void *data, size_t n), (s, data, n), FAILED)
DOOR(ssize_t, gnutls_record_send, (void *s, const void *data, size_t n), (s, data, n), FAILED)
DOOR(void *, gnutls_session_get_ptr, (void *s), (s), NULL)
DOOR_VOID(gnutls_session_set_ptr, (void *s, void *ptr), (s, ptr))
DOOR(const char *, gnutls_strerror, (int code), (code), "GnuTLS is not installed")
DOOR_VOID(gnutls_transport_set_int2, (void *s, int in, int out), (s, in, out))
