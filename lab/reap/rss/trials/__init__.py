"""`reap rss --try`: what each remedy gives in settled memory, measured on the program itself."""
