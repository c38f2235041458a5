#include "present/chart/jpeg.h"

#include "base/attr.h"
#include "base/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* It wants stdio.h first. */
#include <jpeglib.h>

/* High enough that letters stay sharp. */
#define QUALITY 95

#if JPEG_LIB_VERSION >= 80
#define LIBRARY "libjpeg.so.8"
#else
#define LIBRARY "libjpeg.so.62"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PIXELS JCS_EXT_BGRX
#else
#define PIXELS JCS_EXT_XRGB
#endif

/* JPEG_CALL(name): the functions that are used, without their jpeg_. */
#define JPEG_CALLS(JPEG_CALL)                                                                      \
        JPEG_CALL(std_error)                                                                       \
        JPEG_CALL(CreateCompress)                                                                  \
        JPEG_CALL(set_defaults)                                                                    \
        JPEG_CALL(set_quality)                                                                     \
        JPEG_CALL(start_compress)                                                                  \
        JPEG_CALL(write_scanlines)                                                                 \
        JPEG_CALL(finish_compress)                                                                 \
        JPEG_CALL(destroy_compress)

struct jpeg_api {
#define JPEG_CALL(name) __typeof__(&jpeg_##name) name;
        JPEG_CALLS(JPEG_CALL)
#undef JPEG_CALL
};

static int jpeg_refuse(struct err *err, const char *why)
{
        err_set(err, -ENOSYS, "JPEG needs the library libjpeg: %s", why);
        return err_hint_install(err, "libjpeg62-turbo", "libjpeg-turbo", "or write a .png");
}

static int load_jpeg(struct jpeg_api *ret, struct err *err)
{
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (!library)
                return jpeg_refuse(err, LIBRARY " is not installed");
        struct jpeg_api api = {0};
        const struct {
                const char *name;
                void *to;
        } calls[] = {
#define JPEG_CALL(name) {"jpeg_" #name, &api.name},
            JPEG_CALLS(JPEG_CALL)
#undef JPEG_CALL
        };
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                if (!symbol_find(library, calls[i].name, calls[i].to))
                        return jpeg_refuse(err, "the one installed is too old");
        }
        *ret = api;
        return 0;
}

struct job {
        struct jpeg_compress_struct c;
        struct jpeg_error_mgr trouble;
        jmp_buf failed;
        struct jpeg_destination_mgr to;
        JOCTET bytes[8192];
        struct strbuf *out;
};

/* The library would end the program. */
static void jpeg_failed(j_common_ptr c)
{
        struct job *job = c->client_data;
        longjmp(job->failed, 1);
}

static void stay_silent(j_common_ptr c UNUSED)
{
}

/* ---- where bytes go ---- */

static void begin_jpeg(j_compress_ptr c)
{
        struct job *job = c->client_data;
        job->to.next_output_byte = job->bytes;
        job->to.free_in_buffer = sizeof(job->bytes);
}

static boolean flush_buffer(j_compress_ptr c)
{
        struct job *job = c->client_data;
        strbuf_put(job->out, (const char *)job->bytes, sizeof(job->bytes));
        begin_jpeg(c);
        return TRUE;
}

static void end_jpeg(j_compress_ptr c)
{
        struct job *job = c->client_data;
        strbuf_put(job->out, (const char *)job->bytes, sizeof(job->bytes) - job->to.free_in_buffer);
}

/* ---- the picture ---- */

static int compress_jpeg(const struct jpeg_api *api, struct job *job, const unsigned char *pixels,
                         size_t stride)
{
        if (setjmp(job->failed))
                return -EINVAL;
        job->c.input_components = 4;
        job->c.in_color_space = PIXELS;
        api->set_defaults(&job->c);
        api->set_quality(&job->c, QUALITY, TRUE);
        /* Colours as sharp as brightness: curves are thin. */
        job->c.comp_info[0].h_samp_factor = job->c.comp_info[0].v_samp_factor = 1;
        api->start_compress(&job->c, TRUE);
        while (job->c.next_scanline < job->c.image_height) {
                const unsigned char *line = pixels + job->c.next_scanline * stride;
                JSAMPROW row;
                memcpy(&row, &line, sizeof(row)); /* it is only read, which its type does not say */
                api->write_scanlines(&job->c, &row, 1);
        }
        api->finish_compress(&job->c);
        return 0;
}

int jpeg_write(const unsigned char *pixels, size_t stride, size_t width, size_t height,
               struct strbuf *out, struct err *err)
{
        struct jpeg_api api;
        struct job job = {.out = out,
                          .to = {.init_destination = begin_jpeg,
                                 .empty_output_buffer = flush_buffer,
                                 .term_destination = end_jpeg}};
        int r = load_jpeg(&api, err);
        if (r < 0)
                return r;
        job.c.err = api.std_error(&job.trouble);
        job.trouble.error_exit = jpeg_failed;
        job.trouble.output_message = stay_silent;
        job.c.client_data = &job;
        api.CreateCompress(&job.c, JPEG_LIB_VERSION, sizeof(job.c));
        job.c.dest = &job.to;
        job.c.image_width = (JDIMENSION)width;
        job.c.image_height = (JDIMENSION)height;
        r = compress_jpeg(&api, &job, pixels, stride);
        if (r < 0)
                err_set(err, r, "libjpeg cannot write a picture of %zu \u00d7 %zu pixels", width,
                        height);
        api.destroy_compress(&job.c);
        return r;
}
