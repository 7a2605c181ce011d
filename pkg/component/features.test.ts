import { expect, test } from "bun:test"
import { DEFAULT_FEATURES, parseFeatureGates } from "./features.ts"

test.each([
  ["", {}],
  ["WatchList=false", { WatchList: false }],
  ["EnvFiles=true, WatchList=False", { WatchList: false }],
])("%j sets the features that it names", (text, changed) => {
  expect(parseFeatureGates(text)).toEqual({ ...DEFAULT_FEATURES, ...changed })
})

test.each([
  ["WatchList", '"WatchList" is no feature gate: expected Name=true or Name=false'],
  ["WatchList=on", '"WatchList=on" is no feature gate'],
  ["Nonsense=true", 'unknown feature gate "Nonsense": the feature gates are ClusterTrustBundle,'],
  ["AllAlpha=true", "AllAlpha cannot be true: name the gates that are wanted"],
  ["SidecarContainers=false", "cannot set feature gate SidecarContainers to false, feature is locked to true"],
  ["GitRepoVolumeDriver=true", "cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false"],
  ["OpportunisticBatching=false", "feature gate OpportunisticBatching cannot be false: k3ts has no way without it"],
  [
    "SELinuxMount=true",
    "feature gate SELinuxMount cannot be true: it is beta and off in Kubernetes 1.36, and not in k3ts; volumes",
  ],
  [
    "ClusterTrustBundleProjection=true",
    "ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]",
  ],
])("%j is refused", (text, message) => {
  expect(() => parseFeatureGates(text)).toThrow(message)
})
