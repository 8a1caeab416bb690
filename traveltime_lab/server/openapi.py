def describe(): return {}
def page(): return ""
