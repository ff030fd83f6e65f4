def draw(report, path): pass
