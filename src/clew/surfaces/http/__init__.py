"""The verbs over HTTP: translate, authorise, call Clew, render."""
