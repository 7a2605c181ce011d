import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"

/** Which pod a thing on the node belongs to; all that is left of one that the API has forgotten. */
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
