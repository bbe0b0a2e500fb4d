"""From what was learned to the tags of each image: scores, ranking, calibration."""
