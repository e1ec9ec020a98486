"""What the matplotlib drawings share: style, panels, lines, colours, and figures as files."""
