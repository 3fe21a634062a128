"""Judged sets written for Toolscout; tool texts are filled in from the installed catalogs."""
