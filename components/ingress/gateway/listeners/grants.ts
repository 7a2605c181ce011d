import type { ReferenceGrant } from "../../../../pkg/gateway-api/referencegrant.ts"

/** The kind and namespace of the objects that have a reference. */
export interface Referrer {
  readonly group: string
  readonly kind: string
  readonly namespace: string
}

export interface Referent extends Referrer {
  readonly name: string
}

/**
 * Decides which references into other namespaces the ReferenceGrants there permit. Source:
 * apis/v1beta1/referencegrant_types.go.
 */
export class Grants {
  /** The ReferenceGrants by their own namespace, which is that of the objects referred to. */
  readonly #byNamespace: ReadonlyMap<string, readonly ReferenceGrant[]>

  constructor(grants: readonly ReferenceGrant[]) {
    this.#byNamespace = Map.groupBy(grants, ({ metadata }) => metadata.namespace ?? "")
  }

  permits(from: Referrer, to: Referent): boolean {
    if (from.namespace === to.namespace) return true
    return (this.#byNamespace.get(to.namespace) ?? []).some(
      ({ spec }) =>
        spec.from.some(
          ({ group, kind, namespace }) => group === from.group && kind === from.kind && namespace === from.namespace,
        ) &&
        spec.to.some(
          ({ group, kind, name = "" }) => group === to.group && kind === to.kind && (name === "" || name === to.name),
        ),
    )
  }
}
