/*
 * words.h - words that both objects of the plugin know, so that they cannot drift apart. Only text:
 * spank_dltime.so includes it too.
 */
#ifndef DLT_ADVISE_WORDS_H
#define DLT_ADVISE_WORDS_H

/* Values of --dl-time and --dl-partition, in the order of the enumerations in config.h. */
#define DLT_TIME_WORDS      "set", "suggest", "off"
#define DLT_PARTITION_WORDS "suggest", "auto", "off", "auto:run", "auto:cost", "auto:finish"
#define DLT_OBJECTIVE_WORDS "run", "cost", "finish"

/* Environment variables that a job is told, each also as SLURM_NAME (for --export=NONE). Numbers
 * come first, in the order of dlt_advice_variables. */
#define DLT_TOLD_NUMBERS "DLTIME_ESTIMATE_S", "DLTIME_LIMIT_S", "DLTIME_STEP_S", "DLTIME_EPOCH_S"
#define DLT_TOLD_TEXTS   "DLTIME_PARTITION", "DLTIME_BASIS", "DLTIME_VERSION"

#endif
