"""What figures say in words, on paper and on pages alike; without matplotlib and Plotly."""
