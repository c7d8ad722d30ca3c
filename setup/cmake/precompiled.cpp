// The header is all that is compiled here.
