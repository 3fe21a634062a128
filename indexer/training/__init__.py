"""How the default encoder is made: the written pairs, and the commands that train on them."""
