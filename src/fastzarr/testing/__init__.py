"""For tests of stores, codecs and programs: contracts to subclass (pytest), and strategies (hypothesis)."""
