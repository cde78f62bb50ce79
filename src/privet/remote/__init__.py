"""Sessions over a server: the same plans, questions and answers, from another computer."""
