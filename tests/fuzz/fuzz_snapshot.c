/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a cluster snapshot; what was read and written again reads the same. */
#include "../../plugin/advise/snapshot.h"

#include "fuzz.h"

static char *write_out(const struct dlt_snapshot *snapshot, size_t *size)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, size);

    must(stream && dlt_snapshot_write(stream, snapshot) == 0 && fclose(stream) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dlt_snapshot *first = NULL, *second = NULL;
    struct dlt_error error;
    char *one, *two;
    size_t one_size = 0, two_size = 0;

    if (dlt_snapshot_parse((const char *)data, size, &first, &error)) {
        fuzz_check_error(&error);
        return 0;
    }
    one = write_out(first, &one_size);
    must(dlt_snapshot_parse(one, one_size, &second, &error) == 0);
    two = write_out(second, &two_size);
    must(one_size == two_size && memcmp(one, two, one_size) == 0);
    free(one);
    free(two);
    dlt_snapshot_destroy(first);
    dlt_snapshot_destroy(second);
    return 0;
}
