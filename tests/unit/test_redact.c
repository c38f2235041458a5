/* Secrets in command lines: what is masked, and what is not. */
#include "test.h"

#include "base/redact.h"
#include "base/strbuf.h"

static const struct {
        const char *words[5], *masked;
        const char *why;
} cases[] = {
    {{"train.py", "--token", "abc123"}, "train.py --token ***", "the word after an option"},
    {{"x", "--password=hunter2", "y"}, "x --password=*** y", "after the ="},
    {{"x", "--password", "three little words", "y"}, "x --password *** y", "blanks inside"},
    {{"env", "FOO_KEY=abc", "HF_TOKEN=q"}, "env FOO_KEY=*** HF_TOKEN=*", "variables"},
    {{"x", "--aws-secret-access-key", "wJalr/X+Z"}, "x --aws-secret-access-key ***", "long names"},
    {{"x", "-authToken=zzzz"}, "x -authToken=***", "humps"},
    {{"x", "--apikey:zzzz"}, "x --apikey:***", "a colon"},
    {{"curl", "-H", "Authorization: Bearer abc.def"},
     "curl -H Authorization: Bearer ***",
     "a header in one word"},
    {{"curl", "Authorization:", "Bearer", "zzzz"},
     "curl Authorization: Bearer ***",
     "the same in three"},
    {{"sh", "-c", "PGPASSWORD=x psql --password y"},
     "sh -c PGPASSWORD=* psql --password *",
     "a name without a boundary; a command in a word"},
    {{"sh", "-c", "DB_PASSWORD=abcd psql"}, "sh -c DB_PASSWORD=*** psql", "a command in a word"},
    {{"x", "{\"password\": \"abcd\"}"}, "x {\"password\": ***", "JSON"},
    {{"x", "{\"password\":\"abcd\",\"n\":1}"}, "x {\"password\":\"***\",\"n\":1}", "tight JSON"},
    {{"psql", "postgres://me:s3cret@db/x"}, "psql postgres://me:***@db/x", "a URL's password"},
    {{"pip", "https://u:p@q@h/p?x=1"}, "pip https://u:***@h/p?x=1", "an @ in it"},
    {{"x", "hf_abcdefghijklmnopqrstu"}, "x ***", "Hugging Face's shape"},
    {{"x", "--repo=ghp_abcdefghijklmnopqrst"}, "x --repo=***", "GitHub's shape in a value"},
    {{"x", "AKIAIOSFODNN7EXAMPLE"}, "x ***", "AWS's shape"},
    {{"x", "sk-abcdefghijklmnopqrstuvwx"}, "x ***", "OpenAI's shape"},
    {{"x", "--token", "--verbose", "y"}, "x --token --verbose y", "an option is no value"},
    {{"x", "--tokenizer", "gpt2"}, "x --tokenizer gpt2", "a name that starts like one"},
    {{"x", "--max_tokens=4096"}, "x --max_tokens=4096", "counts of tokens"},
    {{"x", "--keys=a,b", "--keyboard=de"}, "x --keys=a,b --keyboard=de", "other names"},
    {{"python", "train.py", "--lr", "0.1"}, "python train.py --lr 0.1", "nothing secret"},
    {{"http://host:8080/path", "a@b.c"}, "http://host:8080/path a@b.c", "a port, an address"},
    {{"x", "disk-sk-1", "hf_short"}, "x disk-sk-1 hf_short", "too short for a token"},
    {{"x", "--token"}, "x --token", "nothing follows"},
    {{"x", "--token", ""}, "x --token ", "an empty value"},
    {{"x", "key=", "abc"}, "x key= ***", "a value of its own"},
};

static void secrets_are_masked(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct redact r = {0};
                struct strbuf out = {0};
                for (size_t k = 0; k < ARRAY_LEN(cases[i].words) && cases[i].words[k]; k++) {
                        char *word = strdup(cases[i].words[k]);
                        redact_word(&r, word);
                        strbuf_putf(&out, "%s%s", k ? " " : "", word);
                        free(word);
                }
                if (strcmp(strbuf_str(&out), cases[i].masked) != 0)
                        fail_msg("%s: \"%s\", not \"%s\"", cases[i].why, strbuf_str(&out),
                                 cases[i].masked);
                strbuf_finish(&out);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(secrets_are_masked)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
