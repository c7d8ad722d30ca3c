module example.net/patterns

go 1.19
