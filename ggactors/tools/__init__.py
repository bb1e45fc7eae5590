"""What agents act with: files, the shell, the board's tools, endings, and the toolbox that offers them."""
