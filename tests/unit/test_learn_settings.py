"""Each setting of section `learn` changes something: one test per setting, named test_learn_<setting>_is_live."""
