import type {
  MatchResources,
  ParamKind,
  ParamRef,
} from "../../../../pkg/api/admissionregistration/v1/matchresources.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { keyFrom } from "../../../../pkg/client/informer.ts"
import { editionOf } from "../../../../pkg/quarantine/edition.ts"
import type { QuarantinePlace } from "../../../../pkg/quarantine/quarantine.ts"
import { Seam } from "../../../../pkg/quarantine/seam.ts"
import { storagePrefix } from "../../cacher/view.ts"
import type { AdmissionContext } from "../context.ts"

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

/** A policy that has bindings, but is left out: its failurePolicy decides about the requests that it matches. */
export interface PolicyLeftOut<P extends Policy, B extends PolicyBinding> {
  readonly policy: P
  readonly bindings: readonly B[]
  readonly leftOut: string
}

/** The names under which policies are set aside: by what they do when they are compiled, and by one evaluation. */
const COMPILATION = "admission"
const EVALUATION = "admission-evaluation"

/**
 * The policies of a kind that have bindings, in the order of their names. A policy is compiled again only when it
 * changes. Source: policy/generic/policy_source.go.
 */
export class PolicySource<P extends Policy, B extends PolicyBinding, Compiled> {
  readonly #context: Context
  readonly #policies: Resource<P>
  readonly #bindings: Resource<B>
  readonly #compile: (policy: P) => Compiled
  readonly #compiled = new WeakMap<P, Compiled>()
  readonly #seam: Seam
  readonly #evaluation: QuarantinePlace | undefined
  #inForce: readonly (PolicyInForce<P, B, Compiled> | PolicyLeftOut<P, B>)[] | undefined

  constructor(
    context: Context,
    { policies, bindings, compile }: { policies: Resource<P>; bindings: Resource<B>; compile(policy: P): Compiled },
  ) {
    const { storage, objects, quarantine, clock, log, signal } = context
    this.#context = context
    this.#policies = policies
    this.#bindings = bindings
    this.#compile = compile
    this.#evaluation = quarantine?.place(EVALUATION)
    this.#seam = new Seam({
      place: "admission policy",
      part: COMPILATION,
      later: EVALUATION,
      quarantine,
      clock,
      log,
      again: () => this.#forget(),
      leftOut: (key, reason, why) =>
        context.leftOut(objects.get(policies, { name: key.slice(key.indexOf("/") + 1) }), reason, why),
    })
    const prefixes = [policies, bindings].map((resource) => storagePrefix(resource as Resource, undefined))
    const unsubscribe = storage.subscribe(() => this.#forget(), prefixes)
    signal.addEventListener(
      "abort",
      () => {
        unsubscribe()
        this.#seam.stop()
      },
      { once: true },
    )
  }

  all(): readonly (PolicyInForce<P, B, Compiled> | PolicyLeftOut<P, B>)[] {
    return (this.#inForce ??= this.#collected())
  }

  /** Does a part of the evaluation of a policy, and notes it meanwhile. */
  evaluating<T>(policy: P, work: () => T): T {
    return this.#evaluation === undefined ? work() : this.#evaluation.among(this.#keyOf(policy), work)
  }

  #forget(): void {
    this.#inForce = undefined
  }

  #keyOf({ metadata }: P): string {
    return `${this.#policies.kind}/${keyFrom(metadata)}`
  }

  #collected(): readonly (PolicyInForce<P, B, Compiled> | PolicyLeftOut<P, B>)[] {
    const { objects } = this.#context
    const bindings = objects.list(this.#bindings)
    if (bindings.length === 0) return []
    return objects
      .list(this.#policies)
      .flatMap((policy): readonly (PolicyInForce<P, B, Compiled> | PolicyLeftOut<P, B>)[] => {
        const own = bindings.filter(({ spec }) => spec.policyName === policy.metadata.name)
        if (own.length === 0) return []
        const known = this.#compiled.get(policy)
        if (known !== undefined) return [{ policy, bindings: own, compiled: known }]
        const done = this.#seam.run(
          this.#keyOf(policy),
          () => editionOf(policy),
          () => this.#compile(policy),
        )
        if (done === undefined) return [{ policy, bindings: own, leftOut: LEFT_OUT }]
        this.#compiled.set(policy, done.value)
        return [{ policy, bindings: own, compiled: done.value }]
      })
  }
}

type Context = Pick<AdmissionContext, "storage" | "objects" | "quarantine" | "clock" | "log" | "leftOut" | "signal">

const LEFT_OUT =
  "the server leaves this policy out, because work on it failed or ended the server before; see its log and " +
  "`k3ts quarantine list`"
