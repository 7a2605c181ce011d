/** Upper bounds of durations, in seconds. Source: prometheus client_golang DefBuckets. */
export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
