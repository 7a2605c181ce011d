import type { Resource } from "../../pkg/apimachinery/resource.ts"

/** Returns the kind that the cluster serves under a name. */
export type ResourceOf = (apiVersion: string, kind: string) => Resource | undefined

export interface HelmControllerConfig {
  readonly resourceOf: ResourceOf
  /** The version of Kubernetes, such as `v1.36.0`. */
  readonly kubeVersion: string
  /** Returns versions and kinds of all APIs that are served: `apps/v1`, `apps/v1/Deployment`. */
  readonly apiVersions: () => readonly string[]
}

/** What the controller has while it runs. */
export interface RunningConfig extends HelmControllerConfig {
  /** Aborts when the controller is to stop. */
  readonly signal: AbortSignal
}
