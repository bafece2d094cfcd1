/*
 * profile_format.h - the bytes of a profile file (*.dlp).
 *
 *     header | entries | sections' index | step parameters | sources | sections
 *
 * Rule, from the first release on: whoever changes any of these structs, or what a field or a
 * feature means, raises DLT_PROFILE_VERSION (or DLT_FEATURE_SET), so that another version's file is
 * called that and not damaged. Sizes of structs are in the header as well, and catch a change that
 * forgot.
 *
 * Everything before the sections is the directory, guarded by one checksum; each section has its
 * own, verified when the section is first used. Little-endian, fixed width, offsets from the start
 * of the file, everything aligned to 8 bytes. A section is a struct dlt_file_model and its arrays,
 * one after the other in the order of struct dlt_section, each padded to 8 bytes; or a table of
 * convolutions, which table.h lays out.
 */
#ifndef DLT_PREDICT_PROFILE_FORMAT_H
#define DLT_PREDICT_PROFILE_FORMAT_H

#include "predict/features.h"
#include "predict/forest.h"
#include "predict/network.h"
#include "predict/profile.h"

#define DLT_PROFILE_MAGIC "dltprof\n"
enum { DLT_PROFILE_VERSION = 3, DLT_DONORS = 32, DLT_MEMBERS = 8 };
/* Of the spread's terms, those that every section has, and all. */
enum { DLT_SIGMA_ALL = 10, DLT_SIGMA_TERMS = 12 };
/* Spreads of logarithms, of which no learner comes near the most. */
enum { DLT_SIGMA_MOST = 10 };

struct dlt_file_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint64_t file_size;
    uint64_t directory_size;
    uint64_t directory_checksum; /* of the directory with this field zero */
    uint32_t entry_count, section_count, step_count, source_count;
    uint32_t entry_size, section_size, step_size, source_size;
    uint64_t entry_offset, section_offset, step_offset, source_offset;
    uint32_t model_size, feature_set; /* of the sections */
    int64_t created;                  /* seconds since 1970 */
    char producer[48];
};

struct dlt_file_entry {
    struct dlt_device device;
    struct dlt_software software;
    int32_t threads;
    uint32_t general; /* 1: learned on several devices, stands for those never measured */
    double flops_s;   /* the best seen: FLOP/s of float32 products, 0: none */
    double bytes_s;   /* bytes/s of memory-bound operators, 0: none */
    double floor_s;   /* the shortest time seen, 0: none */
    uint64_t rows;
    uint32_t first_section, section_count;
    uint32_t adapted; /* 1: the profile is this device's; the other entries are its donors */
    uint32_t reserved;
};

struct dlt_file_section {
    char kind[32];
    uint32_t entry;
    uint32_t passes; /* bit 1 << enum dlt_pass */
    uint32_t dtype, math;
    uint32_t basis; /* enum dlt_basis */
    uint32_t rows;
    uint64_t offset, size, checksum;
    /* Accuracy on rows held out of training (cross-validation where there are few). */
    uint64_t held_out;
    double rmse_s, mape, median_ape, coverage90, mean_width;
};

struct dlt_file_step {
    uint32_t entry, framework;
    struct dlt_step_parameters parameters;
};
/* Whether a profile may hold them: else it is refused. */
bool dlt_step_is_sound(const struct dlt_step_parameters *parameters);

struct dlt_file_source {
    char path[224];
    char text[160];        /* the header's own `source` */
    uint64_t size, digest; /* of the file's bytes; dlt_checksum of each 64 KiB, from seed 0 on with
                            * that of those before */
    uint64_t rows;
};

/*
 * Networks that a training may begin from (learn/start.h) stand under this and their operator's
 * name, under the entry of the one device that had no part in them. Nothing is priced by them.
 */
#define DLT_START_PREFIX "start "
bool dlt_section_is_start(const struct dlt_file_section *section);

/* How the cost model is corrected; a forest may share in it or do it alone. */
enum dlt_ratio {
    DLT_RATIO_NONE,
    DLT_RATIO_NETWORK,  /* the mean of several of one shape */
    DLT_RATIO_KERNEL,   /* Gaussian process: sum of weight x kernel(distance to a measured row) */
    DLT_RATIO_TRANSFER, /* no cost model: what other entries say, see transfer.h */
    DLT_RATIOS
};

#define DLT_FLOOR_SHARE 0.7

struct dlt_file_model {
    uint32_t feature_set;
    uint32_t columns; /* of the kind */
    uint32_t ratio;   /* enum dlt_ratio */
    uint32_t inputs;  /* features that the ratio uses */
    uint32_t layers;  /* networks: layers, and their widths */
    uint32_t width[DLT_NETWORK_LAYERS + 1];
    uint32_t points;      /* kernel: measured rows kept */
    uint32_t axes;        /* of the distance */
    uint32_t neighbours;  /* measured rows kept for the distance */
    uint32_t optimizers;  /* bit 1 << enum dlt_optimizer of steps and updates that were measured */
    uint32_t trees;       /* of the forest; 0: none */
    uint32_t tree_stride; /* nodes of each */
    uint32_t signature;   /* dlt_feature_signature of the kind */
    uint32_t donors;      /* entries that a transfer weighs anew; 0: by hardware alone */
    uint32_t members;     /* networks */
    double floor_s;       /* nothing is faster */
    double target_mean, target_scale; /* ln ratio = mean + scale x output */
    double tree_scale;                /* of the forest's leaves */
    double tree_weight;               /* of the forest in the output; the ratio has the rest */
    double ratio_low, ratio_high;     /* of ln ratio in training */
    double kernel_length;
    double cost_mean, cost_scale; /* of ln cost in training */
    double near, far;             /* distance: within the rows; outside them */
    double sigma[DLT_SIGMA_ALL];  /* ln sigma inside: sum of coefficient x term */
    double sigma_low, sigma_high; /* range of sigma inside */
    double sigma_far;             /* of the cost model alone */
    union {
        struct {
            double mix, reach; /* of a transfer */
        };
        double sigma_last[2]; /* of others: sigma goes on; 0 where these terms were unknown */
    };
};

/* An entry that a transfer asks, and what the few measurements of the new device add to its share.
 */
struct dlt_file_donor {
    uint32_t entry, reserved;
    double share;
};

/* A section's arrays, pointing into its bytes. */
struct dlt_section {
    const struct dlt_file_section *index;
    const unsigned char *bytes; /* all of it, index->size; the profile's */
    struct dlt_file_model model;
    struct dlt_network network;
    const double *coefficient;          /* columns */
    const uint16_t *input;              /* inputs: positions among the features */
    const float *input_mean;            /* inputs */
    const float *input_scale;           /* inputs: 1 / standard deviation */
    const int8_t *weight;               /* networks', one after the other; see network.h */
    const float *scale;                 /* networks' */
    const float *parameter;             /* the kernel's points' weights */
    const int16_t *point;               /* points x inputs, standardised x DLT_POINT_UNIT */
    const struct dlt_forest_node *tree; /* trees x tree_stride */
    const uint16_t *axis;               /* axes: positions among the coordinates */
    const float *axis_mean;             /* axes */
    const float *axis_scale;            /* axes */
    const float *axis_low;              /* axes: range in training, standardised */
    const float *axis_high;             /* axes */
    const int8_t *neighbour;            /* axes x neighbours, standardised x DLT_NEIGHBOUR_UNIT */
    const struct dlt_file_donor *donor; /* donors */
};
enum { DLT_POINT_UNIT = 4096, DLT_NEIGHBOUR_UNIT = 8, DLT_NEIGHBOURS = 512 };

enum dlt_section_state {
    DLT_SECTION_UNSEEN,
    DLT_SECTION_SOUND,
    DLT_SECTION_ALTERED,
    DLT_SECTION_ALIEN,
    DLT_SECTION_SHORT /* no memory for it: dlt_profile_check says so, and lets it be tried again */
};

struct dlt_profile {
    char *path;
    uint64_t serial; /* of no other profile of this process */
    int fd; /* read from, section by section, when one is first used; -1: all is in memory */
    size_t size;
    const unsigned char *data; /* the header and the directory; where fd is -1, everything */
    const struct dlt_file_header *header;
    const struct dlt_file_entry *entry;
    const struct dlt_file_section *section;
    const struct dlt_file_step *step;
    const struct dlt_file_source *source;
    _Atomic unsigned char *state;   /* of each section: enum dlt_section_state */
    unsigned char *_Atomic *loaded; /* each section's bytes, once they were read from the file */
};

/* A profile over bytes in memory, which it takes (malloc'ed) even where it fails. name: for
 * messages. */
int dlt_profile_from_memory(void *data, size_t size, const char *name, struct dlt_profile **profile,
                            struct dlt_error *error);

/* Bytes that were read of the profile so far: the directory, and each section that was used. */
size_t dlt_profile_touched(const struct dlt_profile *profile);

/* Reads and verifies a section on its first use and finds its arrays. Returns false for a damaged
 * one. */
bool dlt_profile_section(const struct dlt_profile *profile, size_t index,
                         struct dlt_section *section);

/* Whether a section says how to ask other entries (transfer.h) instead of having learned itself.
 * "adapted" are both, those of few rows too, so that there the section's own words tell. */
bool dlt_section_is_transfer(const struct dlt_profile *profile, size_t index);

/* The bytes of a section of any kind, profile->section[index].size of them, verified on its first
 * use; NULL for a damaged one. */
const unsigned char *dlt_profile_bytes(const struct dlt_profile *profile, size_t index);

/* Finds and checks the arrays of a section's bytes (8-byte aligned). Returns the bytes used, or 0
 * where counts and sizes do not agree. */
size_t dlt_section_parse(const unsigned char *bytes, size_t size, struct dlt_section *section);

/* Whether every walk through its trees ends inside them; not part of parsing, for its cost. */
bool dlt_section_trees_are_sound(const struct dlt_section *section);

#endif
