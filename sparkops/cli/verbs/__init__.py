"""What each verb takes on the command line: click, and nothing heavier."""
