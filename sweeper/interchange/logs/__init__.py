"""Loss logs of any program: a reader for each layout, and how a layout is recognised."""
