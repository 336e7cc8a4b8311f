"""The functions as a LibreOffice Calc add-in, built from the registry."""
