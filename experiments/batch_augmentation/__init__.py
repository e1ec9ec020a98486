"""The homework's fourth problem: Cutout and batch augmentation of ResNet-44 on CIFAR-10."""
