"""The verbs of Clew by topic: each method checks who asks and hands over to a step."""
