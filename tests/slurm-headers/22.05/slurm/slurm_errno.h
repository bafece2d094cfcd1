/* Slurm 22.05: errors are in errno. */
