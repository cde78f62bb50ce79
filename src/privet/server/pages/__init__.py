"""The server's pages: rendered here from templates, with one small script; every change goes through the HTTP API."""
