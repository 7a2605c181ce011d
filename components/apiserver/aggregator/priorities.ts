/** The position of a version in discovery: higher numbers come first. */
export interface Priority {
  readonly group: number
  /** The priority among the versions of the group. */
  readonly version: number
}

/**
 * Priorities of the built-in versions, by `<group>/<version>`. Sources: pkg/controlplane/apiserver/aggregator.go,
 * cmd/kube-apiserver/app/aggregator.go.
 */
export const BUILTIN_PRIORITIES: ReadonlyMap<string, Priority> = new Map(
  (
    [
      ["/v1", 18_000, 1],
      ["apps/v1", 17_800, 15],
      ["events.k8s.io/v1", 17_750, 15],
      ["authentication.k8s.io/v1", 17_700, 15],
      ["authorization.k8s.io/v1", 17_600, 15],
      ["autoscaling/v2", 17_500, 30],
      ["autoscaling/v1", 17_500, 15],
      ["batch/v1", 17_400, 15],
      ["certificates.k8s.io/v1", 17_300, 15],
      ["certificates.k8s.io/v1beta1", 17_300, 9],
      ["certificates.k8s.io/v1alpha1", 17_300, 1],
      ["networking.k8s.io/v1", 17_200, 15],
      ["networking.k8s.io/v1beta1", 17_200, 9],
      ["policy/v1", 17_100, 15],
      ["rbac.authorization.k8s.io/v1", 17_000, 15],
      ["storage.k8s.io/v1", 16_800, 15],
      ["storage.k8s.io/v1beta1", 16_800, 9],
      ["storage.k8s.io/v1alpha1", 16_800, 1],
      ["admissionregistration.k8s.io/v1", 16_700, 15],
      ["admissionregistration.k8s.io/v1beta1", 16_700, 12],
      ["admissionregistration.k8s.io/v1alpha1", 16_700, 9],
      ["apiextensions.k8s.io/v1", 16_700, 15],
      ["scheduling.k8s.io/v1", 16_600, 15],
      ["scheduling.k8s.io/v1alpha2", 16_600, 2],
      ["coordination.k8s.io/v1", 16_500, 15],
      ["coordination.k8s.io/v1beta1", 16_500, 13],
      ["coordination.k8s.io/v1alpha2", 16_500, 12],
      ["node.k8s.io/v1", 16_300, 15],
      ["discovery.k8s.io/v1", 16_200, 15],
      ["resource.k8s.io/v1", 16_200, 21],
      ["resource.k8s.io/v1beta2", 16_200, 15],
      ["resource.k8s.io/v1beta1", 16_200, 9],
      ["flowcontrol.apiserver.k8s.io/v1", 16_100, 21],
      ["flowcontrol.apiserver.k8s.io/v1beta3", 16_100, 18],
      ["internal.apiserver.k8s.io/v1alpha1", 16_000, 9],
      ["storagemigration.k8s.io/v1beta1", 15_800, 9],
    ] as const
  ).map(([groupVersion, group, version]) => [groupVersion, { group, version }]),
)

/** The priority of custom resources' versions. Source: pkg/controlplane/controller/crdregistration. */
export const CUSTOM_PRIORITY: Priority = { group: 1000, version: 100 }
