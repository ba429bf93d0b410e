"""The command line: one file a command; nothing else imports it."""
