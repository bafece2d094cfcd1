/* Slurm 20.11: errors are in errno. */
