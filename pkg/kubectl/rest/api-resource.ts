/** A version of a group, as discovery has it. */
export interface GroupVersionForDiscovery {
  readonly groupVersion: string
  readonly version: string
}

export interface ApiGroup {
  readonly name: string
  readonly versions: readonly GroupVersionForDiscovery[]
  readonly preferredVersion: GroupVersionForDiscovery
}

export interface ApiResource {
  /** The plural name; that of a subresource has a slash. */
  readonly name: string
  readonly singularName: string
  readonly namespaced: boolean
  /** Where it is not that of the list. */
  readonly group?: string
  readonly version?: string
  readonly kind: string
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly storageVersionHash?: string
}

export interface ApiResourceList {
  readonly groupVersion: string
  readonly resources: readonly ApiResource[]
}
