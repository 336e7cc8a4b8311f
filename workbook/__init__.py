"""The template workbook: layout, styles, one module per sheet, build, recalculation, cached values."""
