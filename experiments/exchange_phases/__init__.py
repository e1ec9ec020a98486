"""Report 7 and the paper's figures 6.4 to 6.6: what gathering, averaging, updating and distributing take."""
