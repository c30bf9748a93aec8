def define(names, base, settings):
    pass
