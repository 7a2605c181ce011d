import type {
  MatchResources,
  ParamKind,
  ParamRef,
} from "../../../../pkg/api/admissionregistration/v1/matchresources.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Storage } from "../../../../pkg/storage/storage.ts"
import type { Objects } from "../../cacher/objects.ts"
import { storagePrefix } from "../../cacher/view.ts"

/** The fields that validating and mutating policies have in common. */
export interface Policy extends KubeObject {
  readonly spec: {
    readonly paramKind?: ParamKind | undefined
    readonly matchConstraints?: MatchResources | undefined
    readonly failurePolicy: string
  }
}

/** The fields that their bindings have in common. */
export interface PolicyBinding extends KubeObject {
  readonly spec: {
    readonly policyName?: string | undefined
    readonly paramRef?: ParamRef | undefined
    readonly matchResources?: MatchResources | undefined
  }
}

/** A policy that has bindings, with its expressions compiled. */
export interface PolicyInForce<P extends Policy, B extends PolicyBinding, Compiled> {
  readonly policy: P
  readonly bindings: readonly B[]
  readonly compiled: Compiled
}

/**
 * The policies of a kind that have bindings, in the order of their names. A policy is compiled again only when it
 * changes. Source: policy/generic/policy_source.go.
 */
export class PolicySource<P extends Policy, B extends PolicyBinding, Compiled> {
  readonly #objects: Objects
  readonly #policies: Resource<P>
  readonly #bindings: Resource<B>
  readonly #compile: (policy: P) => Compiled
  readonly #compiled = new WeakMap<P, Compiled>()
  #inForce: readonly PolicyInForce<P, B, Compiled>[] | undefined

  constructor(
    { storage, objects }: { readonly storage: Storage; readonly objects: Objects },
    { policies, bindings, compile }: { policies: Resource<P>; bindings: Resource<B>; compile(policy: P): Compiled },
  ) {
    this.#objects = objects
    this.#policies = policies
    this.#bindings = bindings
    this.#compile = compile
    const prefixes = [policies, bindings].map((resource) => storagePrefix(resource as Resource, undefined))
    storage.subscribe(() => (this.#inForce = undefined), prefixes)
  }

  all(): readonly PolicyInForce<P, B, Compiled>[] {
    return (this.#inForce ??= this.#collected())
  }

  #collected(): readonly PolicyInForce<P, B, Compiled>[] {
    const bindings = this.#objects.list(this.#bindings)
    if (bindings.length === 0) return []
    return this.#objects.list(this.#policies).flatMap((policy) => {
      const own = bindings.filter(({ spec }) => spec.policyName === policy.metadata.name)
      if (own.length === 0) return []
      let compiled = this.#compiled.get(policy)
      if (compiled === undefined) this.#compiled.set(policy, (compiled = this.#compile(policy)))
      return [{ policy, bindings: own, compiled }]
    })
  }
}
