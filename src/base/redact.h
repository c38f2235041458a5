/*
 * Secrets in command lines. A program's arguments can be seen by everybody on its machine while it
 * runs; a file that keeps them is seen by more, and for longer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* State between the words of one command: whether the next word is the value of a secret. */
struct redact {
        bool next;
};

/*
 * Overwrites what looks like a secret in one word of a command, in its place, with stars; it never
 * gets longer. Words come in order. What is taken for one: the value of an option or variable whose
 * name ends in token, password, secret, key and their like (--token X, --api-key=X, HF_TOKEN=X,
 * "password": "X"); what follows Bearer or Basic; the password in a URL; and the shapes that AWS,
 * GitHub, GitLab, Hugging Face, Slack, OpenAI, Google and NVIDIA give their tokens, and JSON web
 * tokens.
 */
void redact_word(struct redact *r, char *word);
