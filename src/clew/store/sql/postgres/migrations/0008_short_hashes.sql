-- Nothing changes here: under row-level security an index is not looked into by a function of a column, unless the
-- function is known to leak nothing, and those that shorten a hash are not.
SELECT 1;
