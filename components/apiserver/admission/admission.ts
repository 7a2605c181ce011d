import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { RequestOptions, UserInfo } from "../request.ts"

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT"

/** What admission is asked about. Source: apiserver pkg/admission/attributes.go. */
export interface AdmissionAttributes {
  readonly operation: Operation
  readonly resource: Resource
  readonly subresource: string | undefined
  readonly namespace: string | undefined
  /** Empty while a name is still to be made from generateName. */
  readonly name: string
  readonly user: UserInfo
  readonly options: RequestOptions
  /** The object to be stored; for a subresource such as `binding` its own kind; nothing for a deletion. */
  readonly object: KubeObject | undefined
  /** What is stored now. */
  readonly old: KubeObject | undefined
  warn(text: string): void
  /** Notes something in the audit event of the request; absent where none is written. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
}

/**
 * A check of requests that are authorized. `admit` may give a changed copy of the object, `validate` only refuses; both refuse by throwing ApiError.
 * They answer at once where they can: a promise costs every request a turn.
 */
export interface AdmissionPlugin {
  readonly name: string
  readonly operations: readonly Operation[]
  admit?(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined>
  validate?(attributes: AdmissionAttributes): void | Promise<void>
  /** The write that `validate` let through happened, or did not: for plugins that hold something in between, such as quota. */
  settled?(attributes: AdmissionAttributes, written: boolean): void
}

/** The plugins as one. */
export interface Admission {
  /** Runs the mutating part of every plugin in order; gives the object as the last one left it. */
  admit(attributes: AdmissionAttributes): Promise<KubeObject | undefined>
  validate(attributes: AdmissionAttributes): Promise<void>
  settled(attributes: AdmissionAttributes, written: boolean): void
}

export function chainOf(plugins: readonly AdmissionPlugin[]): Admission {
  const by = (operation: Operation) => plugins.filter(({ operations }) => operations.includes(operation))
  const chains = { CREATE: by("CREATE"), UPDATE: by("UPDATE"), DELETE: by("DELETE"), CONNECT: by("CONNECT") }
  return {
    async admit(attributes) {
      let current = attributes
      for (const plugin of chains[attributes.operation]) {
        const answer = plugin.admit?.(current)
        const admitted = answer instanceof Promise ? await answer : answer
        if (admitted !== undefined) current = { ...attributes, object: admitted }
      }
      return current.object
    },
    async validate(attributes) {
      for (const plugin of chains[attributes.operation]) {
        const checked = plugin.validate?.(attributes)
        if (checked instanceof Promise) await checked
      }
    },
    settled(attributes, written) {
      for (const plugin of chains[attributes.operation]) plugin.settled?.(attributes, written)
    },
  }
}
