/*
 * Makes a C file of what pages have inside: embed HEADER NAME=FILE… > page.c. Each file becomes
 * NAME[], and NAME_hash[] its SHA-256 (FIPS 180-4) in base64, which the page's
 * Content-Security-Policy names.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rotate_right(uint32_t v, int by)
{
        return v >> by | v << (32 - by);
}

/* The first 32 bits of the fractional part of a root of a prime: the constants of the standard. */
static uint32_t root_bits(unsigned prime, int root)
{
        long double low = 1, high = prime;
        for (int i = 0; i < 200; i++) {
                long double mid = (low + high) / 2, power = root == 2 ? mid * mid : mid * mid * mid;
                if (power > prime)
                        high = mid;
                else
                        low = mid;
        }
        return (uint32_t)((low - (long double)(uint64_t)low) * 4294967296.0L);
}

static void sha256_constants(uint32_t k[64], uint32_t h[8])
{
        unsigned n = 0;
        for (unsigned p = 2; n < 64; p++) {
                unsigned d = 2;
                while (d * d <= p && p % d)
                        d++;
                if (d * d <= p)
                        continue;
                k[n] = root_bits(p, 3);
                if (n < 8)
                        h[n] = root_bits(p, 2);
                n++;
        }
}

static void sha256_block(const uint8_t *block, const uint32_t k[64], uint32_t h[8])
{
        uint32_t w[64], s[8];
        memcpy(s, h, sizeof(s));
        for (int i = 0; i < 16; i++)
                w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
        for (int i = 16; i < 64; i++)
                w[i] = w[i - 16] + w[i - 7] +
                       (rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3) +
                       (rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10);
        for (int i = 0; i < 64; i++) {
                uint32_t a = s[0], e = s[4];
                uint32_t t1 = s[7] +
                              (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                              ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
                uint32_t t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                              ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
                memmove(s + 1, s, 7 * sizeof(*s));
                s[4] += t1;
                s[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++)
                h[i] += s[i];
}

static void sha256_sum(const uint8_t *data, size_t n, uint8_t ret[32])
{
        uint32_t k[64], h[8];
        size_t whole = n / 64, left = n % 64, tail = left < 56 ? 64 : 128;
        uint8_t end[128] = {0};
        sha256_constants(k, h);
        for (size_t i = 0; i < whole; i++)
                sha256_block(data + 64 * i, k, h);
        memcpy(end, data + 64 * whole, left);
        end[left] = 0x80;
        for (int i = 0; i < 8; i++)
                end[tail - 1 - (size_t)i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
        for (size_t i = 0; i < tail; i += 64)
                sha256_block(end + i, k, h);
        for (int i = 0; i < 32; i++)
                ret[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void put_base64(const uint8_t hash[32])
{
        static const char digits[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for (int i = 0; i < 33; i += 3) {
                unsigned v = (unsigned)hash[i] << 16 |
                             (unsigned)(i + 1 < 32 ? hash[i + 1] : 0) << 8 |
                             (i + 2 < 32 ? hash[i + 2] : 0);
                printf("%c%c%c%c", digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63],
                       i + 2 < 32 ? digits[v & 63] : '=');
        }
}

static void put_file(const char *file, const char *name)
{
        static uint8_t data[1 << 20];
        uint8_t hash[32];
        FILE *f = fopen(file, "rb");
        if (!f) {
                perror(file);
                exit(1);
        }
        size_t n = fread(data, 1, sizeof(data), f);
        fclose(f);
        printf("const char %s[] = {", name);
        for (size_t i = 0; i < n; i++)
                printf("%d,%s", data[i] > 127 ? data[i] - 256 : data[i], i % 32 == 31 ? "\n" : "");
        sha256_sum(data, n, hash);
        printf("0};\nconst char %s_hash[] = \"sha256-", name);
        put_base64(hash);
        puts("\";");
}

int main(int argc, char **argv)
{
        if (argc < 3)
                return 2;
        printf("#include \"%s\"\n\n", argv[1]);
        for (int i = 2; i < argc; i++) {
                char *file = strchr(argv[i], '=');
                if (!file)
                        return 2;
                *file++ = '\0';
                put_file(file, argv[i]);
        }
        return 0;
}
