"""Each setting of section `inject` changes something: one test per setting, named test_inject_<setting>_is_live."""
