"""From events to what they cost: composition, conversions, group privacy, calibration, filters."""
