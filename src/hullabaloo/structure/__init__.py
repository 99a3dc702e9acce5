"""What a user knows about which features belong together: groups, trees, grids, and the sets made of them."""
