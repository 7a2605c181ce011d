import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

/** Identifies the pod of a sandbox or container, also when the API no longer has the pod. */
export interface PodIdentity {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

export const identityOf = ({ metadata: { uid = "", namespace = "default", name = "" } }: Pod): PodIdentity => ({
  uid,
  namespace,
  name,
})
