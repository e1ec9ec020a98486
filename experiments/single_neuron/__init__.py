"""The paper's section 3: a sigmoid neuron learns a step function on 1 to 16 workers, by averages of two kinds."""
