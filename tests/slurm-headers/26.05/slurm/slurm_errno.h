/* Slurm 26.05: errors are in errno. */
