"""What a release tells of the population: intervals, summaries, further models from one release; functions of a `FittedModel`."""
