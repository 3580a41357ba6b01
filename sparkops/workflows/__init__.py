"""The verbs, each a straight list of calls: load, judge, gather, compile, execute, answer; imported one by one."""
