"""Commit of recurrent states after verification."""
