/** A right that a request needs. */
export interface Right {
  readonly verb: string
  readonly resource: string
  readonly group: string
  readonly namespace: string | undefined
  /** The name of the one object that is asked for; undefined for lists, and where it is not known. */
  readonly object?: string
}

/** A role that has a right. */
export interface Holder {
  readonly kind: "Role" | "ClusterRole"
  readonly name: string
}
