# NeuSight's runs with the networks by their names here. Its GPT-3 XL has layers of width 3072. Its
# BERT has the language head in the traces of training steps, and lacks it in forward passes alone:
# at batch 8 on the V100 these take 41 ms less than the step's, of which dropout makes 15 in the trace
# and the head 20.
s/"model": "gpt3_xl"/"model": "gpt3_xl_neusight"/
/"pass": "forward"/s/"model": "bert_large"/"model": "bert_large_encoder"/
