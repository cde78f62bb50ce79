"""Where the data is: a scan becomes SQL, or plain Python in the oracle. Nothing here decides about privacy."""
