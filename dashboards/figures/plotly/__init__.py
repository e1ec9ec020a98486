"""What the Plotly drawings share: panels, axes, colours of the style sheet, and thinned curves."""
