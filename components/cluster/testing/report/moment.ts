/** One thing that happened in a cluster, for a report. */
export interface Moment {
  /** Milliseconds since the epoch, of the cluster's clock. */
  readonly time: number
  /** Whether it may be what is wrong: a warning, an error, a fault, a container that ended badly. */
  readonly isTrouble: boolean
  /** Whether the test did it: a fault, a failed request of the test, an error of its controllers. */
  readonly isOfTest?: boolean
  /** Whether only the whole report tells it: other moments say the same, or it belongs to the start of the cluster. */
  readonly isEcho?: boolean
  /** Who did it or said it: `deployment-controller`, `node-0`, `fault`. */
  readonly who: string
  /** `update Deployment default/web: 2 of 3 ready`. */
  readonly what: string
  /** The object that it is about, as `nameOf` has it; undefined for none. */
  readonly about?: string
  /** What similar moments have in common, such as `create ClusterRole`: many at one instant are told as one. */
  readonly alike?: string
}

interface Named {
  readonly kind?: string | undefined
  readonly metadata: { readonly namespace?: string | undefined; readonly name?: string | undefined }
}

/** Returns `Pod default/web-0`. */
export const nameOf = ({ kind, metadata: { namespace, name } }: Named): string =>
  `${kind} ${namespace ? `${namespace}/` : ""}${name}`

/** Returns a user without what all of its kind have in common: `deployment-controller`, `node-0`, `admin`. */
export const shortUser = (user: string): string =>
  user.replace(/^system:(serviceaccount:kube-system:|node:)?/, "") || "unknown"
