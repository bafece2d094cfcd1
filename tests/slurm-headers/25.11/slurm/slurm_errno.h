/* Slurm 25.11: errors are in errno. */
