import { Registry } from "../../../../pkg/metrics/registry.ts"

/** Why a call failed; upstream's label values. */
export type ConversionFailureType =
  | "conversion_webhook_call_failure"
  | "conversion_webhook_malformed_response_failure"
  | "conversion_webhook_partial_response_failure"
  | "conversion_webhook_invalid_converted_object_failure"

/** Metrics of conversions, with upstream's names. Source: conversion/metrics.go. */
export interface ConversionMetrics {
  /** Records a call; `failure` is undefined when it succeeded. */
  asked(call: {
    readonly definition: string
    readonly from: string
    readonly to: string
    readonly failure: ConversionFailureType | undefined
    readonly seconds: number
  }): void
}

const BUCKETS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60]
const FIRST_BUCKET = 0.001
/** Each bucket is twice as wide as the one before. */
const VERSION_BUCKETS = Array.from({ length: 15 }, (_, i) => FIRST_BUCKET * 2 ** i)

export function conversionMetrics(registry: Registry = new Registry()): ConversionMetrics {
  const requests = registry.counter(
    "apiserver_conversion_webhook_request_total",
    "Calls of conversion webhooks, by success and kind of failure.",
    "failure_type",
    "result",
  )
  const durations = registry.histogram(
    "apiserver_conversion_webhook_duration_seconds",
    "Seconds that conversion webhooks took, by success and kind of failure.",
    BUCKETS,
    "failure_type",
    "result",
  )
  const ofDefinitions = registry.histogram(
    "apiserver_crd_conversion_webhook_duration_seconds",
    "Seconds that conversions by webhooks took, by definition and versions.",
    VERSION_BUCKETS,
    "crd_name",
    "from_version",
    "succeeded",
    "to_version",
  )
  return {
    asked({ definition, from, to, failure, seconds }) {
      const result = failure === undefined ? "success" : "failure"
      requests.with(failure ?? "", result).inc()
      durations.with(failure ?? "", result).observe(seconds)
      ofDefinitions.with(definition, from, String(failure === undefined), to).observe(seconds)
    },
  }
}
