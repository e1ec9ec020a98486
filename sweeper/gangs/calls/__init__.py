"""Calls to a process that we have started, in JSON lines over its standard input and output.

A call is `{"call": number, "method": name, "arguments": [...]}`. Any number of `{"call": number, "value": ...}` answer
it, and one `{"call": number}` ends it. In place of the end may come "error" and "remedy", which are for people, with
the "host" if one was lost, or a "fault". Call 0, which nobody makes, is answered when the process is ready for calls.

- `near.py`: the end that calls
- `far.py`: the end that answers
"""
