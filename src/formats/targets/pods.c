#include "formats/targets/targets.h"

#include "base/jsonin.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

static const char *text_at(json_t *o, const char *a, const char *b)
{
        const char *s = json_string_value(json_object_get(json_object_get(o, a), b));
        return s ? s : "";
}

/* Names of nodes are host names; anything else in this place is not from Kubernetes. */
static int add_pod(struct target_list *t, json_t *pod, struct err *err)
{
        const char *address = text_at(pod, "status", "podIP"),
                   *node = text_at(pod, "spec", "nodeName");
        size_t n = strlen(node), before = t->n;
        if (strcmp(text_at(pod, "status", "phase"), "Running") != 0 || !address[0])
                return 0;
        if (n >= TARGET_HOST_MAX ||
            strspn(node, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789-._") != n)
                return err_set(err, ERR_DATA, "'%.80s' is not the name of a node", node);
        if (strpbrk(address, "[], \t\n"))
                return err_set(err, ERR_DATA, "'%.80s' is not the address of a pod", address);
        int r = targets_parse_list(t, address, strlen(address), err);
        if (r == 0 && t->n == before + 1)
                memcpy(t->list[before].instance, node, n + 1);
        return r;
}

int targets_parse_pods(struct target_list *t, const char *s, size_t len, struct err *err)
{
        json_error_t where;
        json_t *root = jsonin_load_list(s, len, 0, &where);
        json_t *items = json_object_get(root, "items"), *pod;
        size_t i;
        int r = 0;
        if (!json_is_array(items)) {
                err_set(err, ERR_DATA, "this is not a list of pods%s%.80s", root ? "" : ": ",
                        root ? "" : where.text);
                r = err_hint(err, "it is what 'kubectl get pods -o json' writes");
        }
        for (i = 0; r == 0 && i < json_array_size(items); i++) {
                pod = json_array_get(items, i);
                r = add_pod(t, pod, err);
        }
        json_decref(root);
        return r;
}
