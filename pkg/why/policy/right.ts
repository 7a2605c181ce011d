/** A right that a request needs. */
export interface Right {
  readonly verb: string
  readonly resource: string
  readonly group: string
  readonly namespace: string | undefined
}

/** A role that has a right. */
export interface Holder {
  readonly kind: "Role" | "ClusterRole"
  readonly name: string
}
