import type { Labels } from "../../../../../pkg/apimachinery/selectors/labels.ts"

/** A pod that sends a request. */
export interface SendingPod {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly labels: Labels
  readonly node: string
  /** Its addresses, the main one first; those of the node for a pod in the network of its node. */
  readonly ips: readonly string[]
  readonly hostNetwork: boolean
}

/** How pods reach others by names and Services. The network itself only knows addresses. */
export interface PodClients {
  fetch(pod: SendingPod, request: Request): Promise<Response>
  /** Returns the addresses of a name. @throws ConnectionError for an unknown name */
  lookup(pod: SendingPod, name: string): Promise<readonly string[]>
}
