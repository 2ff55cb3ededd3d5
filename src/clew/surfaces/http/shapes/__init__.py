"""What requests carry and answers look like, by topic: the types behind the OpenAPI document.

An answer's shape describes what `as_json()` of a value gives, field by field; a test holds the two together.
"""
