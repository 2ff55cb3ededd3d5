"""The command line: parse, call Clew, render. Starts fast, because agents and shells start it often."""
