"""The words actors exchange: frozen records without behaviour, one page per actor."""
