"""Spark, on a cluster or on this machine: its engine, and its tables as sources."""

from .cluster import Spark
from .spark_sources import SparkTable

__all__ = ["Spark", "SparkTable"]
