"""One module per sheet: each writes its sheet and says where its cells are."""
