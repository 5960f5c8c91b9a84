"""The compatibility matrix: who reads what whom wrote, bit by bit."""
