"""A session as it is looked at: what a picture shows of it, moment by moment."""
