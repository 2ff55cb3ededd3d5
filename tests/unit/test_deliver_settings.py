"""Each setting of section `deliver` changes something: one test per setting, named test_deliver_<setting>_is_live."""
