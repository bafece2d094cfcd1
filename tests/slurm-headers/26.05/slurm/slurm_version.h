/* Slurm 26.05 */
#define SLURM_VERSION_NUMBER   0x1a0500
#define SLURM_VERSION_MAJOR(a) (((a) >> 16) & 0xff)
#define SLURM_VERSION_MINOR(a) (((a) >> 8) & 0xff)
#define SLURM_VERSION_MICRO(a) ((a)&0xff)
