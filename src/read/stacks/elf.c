#include "read/stacks/elf.h"

#include "base/attr.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define HEADERS_MAX 64  /* of segments */
#define DYNAMIC_MAX 256 /* entries */
#define CHAIN_MAX 4096  /* symbols with one hash */
#define BUCKETS_MAX (1u << 24)
#define NAME_MAX_BYTES 64 /* of a symbol that is searched for */

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

static bool is_own_kind(const Elf64_Ehdr *h)
{
        return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
               h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == OWN_MACHINE &&
               (h->e_type == ET_EXEC || h->e_type == ET_DYN) &&
               h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum <= HEADERS_MAX;
}

/* The loader has made addresses of the offsets that stand in the file, except for what it could not
 * write, and the kernel's own image. */
static uint64_t relocated_address(const struct elf_image *e, uint64_t base, uint64_t v)
{
        return v >= base ? v : v + e->bias;
}

static void note_dynamic(struct elf_image *e, uint64_t base, const Elf64_Dyn *d)
{
        switch (d->d_tag) {
        case DT_SYMTAB:
                e->symbols = relocated_address(e, base, d->d_un.d_ptr);
                break;
        case DT_STRTAB:
                e->strings = relocated_address(e, base, d->d_un.d_ptr);
                break;
        case DT_STRSZ:
                e->strings_size = d->d_un.d_val;
                break;
        case DT_GNU_HASH:
                e->gnu_hash = relocated_address(e, base, d->d_un.d_ptr);
                break;
        case DT_HASH:
                e->hash = relocated_address(e, base, d->d_un.d_ptr);
                break;
        default:
                break;
        }
}

static void read_dynamic(struct remote *r, uint64_t base, uint64_t addr, uint64_t size,
                         struct elf_image *e)
{
        size_t n = MIN(size / sizeof(Elf64_Dyn), (uint64_t)DYNAMIC_MAX);
        const uint8_t *at = remote_get(r, addr, n * sizeof(Elf64_Dyn));
        for (size_t i = 0; at && i < n; i++) {
                Elf64_Dyn d;
                memcpy(&d, at + i * sizeof(d), sizeof(d));
                if (d.d_tag == DT_NULL)
                        break;
                note_dynamic(e, base, &d);
        }
}

int elf_open(struct remote *r, uint64_t base, struct elf_image *ret)
{
        Elf64_Ehdr h;
        Elf64_Phdr p, dynamic = {0};
        struct elf_image e = {0};
        const uint8_t *at = remote_get(r, base, sizeof(h));
        if (!at)
                return -ENOEXEC;
        memcpy(&h, at, sizeof(h));
        if (!is_own_kind(&h) || h.e_phoff > REMOTE_READ_MAX)
                return -ENOEXEC;
        at = remote_get(r, base + h.e_phoff, h.e_phnum * sizeof(p));
        for (size_t i = 0; at && i < h.e_phnum; i++) {
                memcpy(&p, at + i * sizeof(p), sizeof(p));
                if (p.p_type == PT_LOAD && p.p_offset == 0)
                        e.bias = base - p.p_vaddr;
                if (p.p_type == PT_LOAD && p.p_flags & PF_W) {
                        e.data_begin = p.p_vaddr;
                        e.data_end = p.p_vaddr + p.p_memsz;
                }
                if (p.p_type == PT_DYNAMIC)
                        dynamic = p;
        }
        e.data_begin += e.bias;
        e.data_end += e.bias;
        read_dynamic(r, base, e.bias + dynamic.p_vaddr, dynamic.p_memsz, &e);
        if (!e.symbols || !e.strings || (!e.gnu_hash && !e.hash))
                return -ENOEXEC;
        *ret = e;
        return 0;
}

/* Whether symbol i is a definition with that name; its value then. */
static bool is_symbol(struct remote *r, const struct elf_image *e, uint32_t i, const char *name,
                      uint64_t *ret)
{
        Elf64_Sym s;
        size_t n = strlen(name) + 1;
        const uint8_t *at = remote_get(r, e->symbols + (uint64_t)i * sizeof(s), sizeof(s));
        if (!at)
                return false;
        memcpy(&s, at, sizeof(s));
        if (s.st_shndx == SHN_UNDEF || s.st_name >= e->strings_size ||
            n > e->strings_size - s.st_name)
                return false;
        at = remote_get(r, e->strings + s.st_name, n);
        if (!at || memcmp(at, name, n) != 0)
                return false;
        *ret = e->bias + s.st_value;
        return true;
}

static uint32_t gnu_hash(const char *s)
{
        uint32_t h = 5381;
        for (; *s; s++)
                h = h * 33 + (unsigned char)*s;
        return h;
}

static bool find_by_gnu_hash(struct remote *r, const struct elf_image *e, const char *name,
                             uint64_t *ret)
{
        const uint8_t *head = remote_get(r, e->gnu_hash, 4 * sizeof(uint32_t));
        if (!head)
                return false;
        uint32_t buckets = remote_u32(head), first = remote_u32(head + 4),
                 bloom = remote_u32(head + 8), want = gnu_hash(name);
        if (buckets == 0 || buckets > BUCKETS_MAX || bloom > BUCKETS_MAX)
                return false;
        uint64_t table = e->gnu_hash + 16 + (uint64_t)bloom * sizeof(uint64_t),
                 chains = table + (uint64_t)buckets * sizeof(uint32_t);
        const uint8_t *at = remote_get(r, table + want % buckets * sizeof(uint32_t), 4);
        uint32_t i = at ? remote_u32(at) : 0;
        if (i < first || i == 0)
                return false;
        for (int k = 0; k < CHAIN_MAX; k++, i++) {
                at = remote_get(r, chains + (uint64_t)(i - first) * sizeof(uint32_t), 4);
                if (!at)
                        return false;
                uint32_t hash = remote_u32(at);
                if ((hash | 1) == (want | 1) && is_symbol(r, e, i, name, ret))
                        return true;
                if (hash & 1)
                        return false;
        }
        return false;
}

static uint32_t sysv_hash(const char *s)
{
        uint32_t h = 0;
        for (; *s; s++) {
                h = (h << 4) + (unsigned char)*s;
                h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
        }
        return h;
}

static bool find_by_hash(struct remote *r, const struct elf_image *e, const char *name,
                         uint64_t *ret)
{
        const uint8_t *at = remote_get(r, e->hash, 2 * sizeof(uint32_t));
        uint32_t buckets = at ? remote_u32(at) : 0;
        if (buckets == 0 || buckets > BUCKETS_MAX)
                return false;
        uint64_t table = e->hash + 8, chains = table + (uint64_t)buckets * sizeof(uint32_t);
        at = remote_get(r, table + sysv_hash(name) % buckets * sizeof(uint32_t), 4);
        for (int k = 0; at && k < CHAIN_MAX; k++) {
                uint32_t i = remote_u32(at);
                if (i == 0)
                        return false;
                if (is_symbol(r, e, i, name, ret))
                        return true;
                at = remote_get(r, chains + (uint64_t)i * sizeof(uint32_t), 4);
        }
        return false;
}

bool elf_find(struct remote *r, const struct elf_image *e, const char *name, uint64_t *ret)
{
        if (strlen(name) > NAME_MAX_BYTES)
                return false;
        return e->gnu_hash ? find_by_gnu_hash(r, e, name, ret) : find_by_hash(r, e, name, ret);
}
