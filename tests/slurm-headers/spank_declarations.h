/* spank_declarations.h - what the plugin uses of slurm/spank.h. */
#ifndef TEST_SLURM_SPANK_DECLARATIONS_H
#define TEST_SLURM_SPANK_DECLARATIONS_H

typedef struct spank_handle *spank_t;
typedef int(spank_f)(spank_t spank, int argc, char *argv[]);
extern spank_f slurm_spank_init, slurm_spank_init_post_opt, slurm_spank_exit;

enum spank_context {
    S_CTX_ERROR,
    S_CTX_LOCAL,
    S_CTX_REMOTE,
    S_CTX_ALLOCATOR,
    S_CTX_SLURMD,
    S_CTX_JOB_SCRIPT
};
typedef enum spank_context spank_context_t;
typedef int (*spank_opt_cb_f)(int value, const char *argument, int remote);

struct spank_option {
    char *name, *arginfo, *usage;
    int has_arg, val;
    spank_opt_cb_f cb;
};

extern spank_context_t spank_context(void);
extern RELEASE_SPANK_RESULT spank_option_register(spank_t spank, struct spank_option *option);
extern RELEASE_SPANK_RESULT spank_job_control_setenv(spank_t spank, const char *name,
                                                     const char *value, int overwrite);
extern RELEASE_SPANK_RESULT spank_job_control_unsetenv(spank_t spank, const char *name);
extern void slurm_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define SPANK_PLUGIN(name, version)                                                                \
    const char plugin_name[] = #name, plugin_type[] = "spank";                                     \
    const unsigned int plugin_version = RELEASE_PLUGIN_VERSION;                                    \
    const unsigned int spank_plugin_version = version;

#endif
