"""The shapes that clients see; camelCase is spelled only here.

What is written is made by plain functions: the terminal uses them for `--json`, and models take
longer to load than most commands take to run. What is read are models: `answers` and `handshake`.
"""
