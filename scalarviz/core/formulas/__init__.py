"""All the maths of scalarviz, as tables of plain functions on floats."""
