/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what sacct says, with a header and without: refused with a sentence, or jobs whose
 * every field is text. The last byte chooses. */
#include "learn/accounting.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool header = size > 0 && data[size - 1] % 2;
    const char *end, *first;
    struct dlt_account *jobs;
    struct dlt_error error;
    size_t count, length;
    char *text = strndup((const char *)data, size);

    must(text);
    length = strlen(text);
    first = text;
    end = text + length;
    if (dlt_account_parse(text, header ? "|" : "<x>", header, &jobs, &count, &error)) {
        fuzz_check_error(&error);
        free(text);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        for (int f = 0; f < DLT_ACCOUNT_FIELDS; f++) {
            const char *field = jobs[i].field[f];

            must(field);
            must(!*field || (field >= first && field + strlen(field) <= end));
        }
        dlt_account_end(jobs[i].field[DLT_ACCOUNT_END]);
    }
    free(jobs);
    free(text);
    return 0;
}
