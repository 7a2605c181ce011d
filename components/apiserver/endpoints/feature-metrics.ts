import { DEFAULT_FEATURES, STAGES, type Features } from "../../../pkg/component/features.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"

/**
 * Registers which feature gates are on, and that no metric is hidden or disabled. Source: component-base
 * metrics/feature.go, registry.go.
 */
export function registerFeatures(registry: Registry, features: Features = DEFAULT_FEATURES): void {
  const enabled = registry.gauge(
    "kubernetes_feature_enabled",
    "This metric records the data about the stage and enablement of a k8s feature.",
    "name",
    "stage",
  )
  for (const [name, isOn] of Object.entries(features))
    enabled.with(name, STAGES[name as keyof Features]).set(isOn ? 1 : 0)
  registry.counter("hidden_metrics_total", "The count of hidden metrics.").with()
  registry.counter("disabled_metrics_total", "The count of disabled metrics.").with()
}
