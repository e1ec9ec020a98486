"""The paper's sweep of section 5: which batch size and rate on CIFAR-10, by worker count."""
