"""What AlexNet, VGG-19, inception modules and stacks of small filters cost, counted and by hand."""
