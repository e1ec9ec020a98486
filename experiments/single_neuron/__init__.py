"""The paper's section 3: one sigmoid neuron that learns a step function on 1 to 16 workers, by averages of two kinds."""
