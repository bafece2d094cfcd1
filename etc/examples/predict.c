/*
 * How long a network trains on a device: predict PROFILE DEVICE MODEL[,key=value]...
 *
 *     cc predict.c -ldltime -o predict
 *     cc predict.c -l:libdltime.a -lconfig -ljson-c -lz -lm -o predict    # the static library
 *     ./predict a100.dlp a100 resnet50,batch=256,epochs=90,samples=1281167
 */
#include <dltime.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct dlt_error error;
    struct dlt_model *model = NULL;
    struct dlt_profile *profile = NULL;
    struct dlt_estimate *estimate = NULL;
    int failed;

    if (argc != 4)
        return fprintf(stderr, "usage: %s PROFILE DEVICE MODEL[,key=value]...\n", argv[0]), 2;
    failed =
        dlt_profile_load(argv[1], &profile, &error) ||
        dlt_model_load(argv[3], NULL, &model, &error) ||
        dlt_predict(model, profile, &(struct dlt_question){.device = argv[2]}, &estimate, &error);
    if (failed)
        fprintf(stderr, "%s: %s\n", argv[0], error.text);
    else
        printf("%s on %s: a step %.4g s, the job %.0f s, 9 of 10 within %.0f s; rests on: %s\n",
               dlt_model_name(model), dlt_estimate_device(estimate), dlt_estimate_step_s(estimate),
               dlt_estimate_job_s(estimate), dlt_estimate_job_quantile(estimate, 0.9),
               dlt_basis_name(dlt_estimate_basis(estimate)));
    dlt_estimate_destroy(estimate);
    dlt_model_destroy(model);
    dlt_profile_destroy(profile);
    return failed;
}
