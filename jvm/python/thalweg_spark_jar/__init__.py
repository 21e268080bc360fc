"""Holds thalweg-spark.jar, which thalweg.spark.jar() finds."""
