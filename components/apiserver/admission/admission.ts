import { qualified } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { RequestOptions, UserInfo } from "../request.ts"
import { Reinvocation } from "./reinvocation.ts"

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
  /** What webhooks and policies did to the object so far; there while any are configured. */
  readonly reinvocation?: Reinvocation
}

/**
 * A check of requests that are authorized. `admit` may give a changed copy of the object, `validate` only refuses; both
 * refuse by throwing ApiError. They answer at once where they can: a promise costs every request a turn.
 */
export interface AdmissionPlugin {
  readonly name: string
  readonly operations: readonly Operation[]
  /**
   * The kinds it is for (`pods`, `leases.coordination.k8s.io`), with their subresources; it is asked about no other.
   * All unless given.
   */
  readonly kinds?: readonly string[]
  /** The same by what the kind declares, where a list would have to be kept. */
  concerns?(resource: Resource): boolean
  admit?(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined>
  validate?(attributes: AdmissionAttributes): void | Promise<void>
  /**
   * The write that `validate` let through happened, or did not: for plugins that hold something in between, such as
   * quota.
   */
  settled?(attributes: AdmissionAttributes, written: boolean): void
  /** Whether `admit` may ask for a second round of every plugin. Never unless given. */
  mayReinvoke?(): boolean
}

/** What admission is asked about objects of one kind. */
export interface AttributesOf<T extends KubeObject> extends AdmissionAttributes {
  readonly object: T
  /** What is stored now; undefined for a creation. */
  readonly old: T | undefined
}

/** A plugin, or its part, that is for objects of one kind. */
export interface KindPlugin<T extends KubeObject> extends Pick<AdmissionPlugin, "name"> {
  readonly operations: readonly ("CREATE" | "UPDATE")[]
  /**
   * Of these subresources, which must take the whole object (`status`, `resize`), and not of the object itself unless
   * `undefined` is among them. Only of the object itself unless given.
   */
  readonly subresources?: readonly (string | undefined)[]
  admit?(attributes: AttributesOf<T>): T | undefined | Promise<T | undefined>
  validate?(attributes: AttributesOf<T>): void | Promise<void>
}

const ITSELF = [undefined]

/**
 * A plugin that is asked about objects of `resource` only, and is given them in their type. A plugin that is for
 * several kinds is a list of such.
 */
export function on<T extends KubeObject>(resource: Resource<T>, plugin: KindPlugin<T>): AdmissionPlugin {
  const { name, operations, subresources = ITSELF, admit, validate } = plugin
  const concerns = (attributes: AdmissionAttributes): attributes is AttributesOf<T> =>
    attributes.object !== undefined && subresources.includes(attributes.subresource)
  return {
    name,
    operations,
    kinds: [qualified(resource)],
    ...(admit === undefined ? {} : { admit: (attributes) => (concerns(attributes) ? admit(attributes) : undefined) }),
    ...(validate === undefined
      ? {}
      : { validate: (attributes) => (concerns(attributes) ? validate(attributes) : undefined) }),
  }
}

/** The plugins as one. It answers at once unless one of them does not. */
export interface Admission {
  /** Runs the mutating part of every plugin in order; gives the object as the last one left it. */
  admit(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined>
  validate(attributes: AdmissionAttributes): void | Promise<void>
  settled(attributes: AdmissionAttributes, written: boolean): void
}

/** The plugins that are asked about an operation on a kind. */
interface Chain {
  readonly admitting: readonly (AdmissionPlugin & Required<Pick<AdmissionPlugin, "admit">>)[]
  readonly validating: readonly Required<Pick<AdmissionPlugin, "validate">>[]
  readonly settling: readonly Required<Pick<AdmissionPlugin, "settled">>[]
}

export function chainOf(plugins: readonly AdmissionPlugin[]): Admission {
  const chains: Readonly<Record<Operation, WeakMap<Resource, Chain>>> = {
    CREATE: new WeakMap(),
    UPDATE: new WeakMap(),
    DELETE: new WeakMap(),
    CONNECT: new WeakMap(),
  }
  const chainFor = ({ operation, resource }: AdmissionAttributes): Chain => {
    let chain = chains[operation].get(resource)
    if (chain === undefined) {
      const asked = plugins.filter(
        (plugin) =>
          plugin.operations.includes(operation) &&
          plugin.kinds?.includes(qualified(resource)) !== false &&
          plugin.concerns?.(resource) !== false,
      )
      chain = {
        admitting: asked.filter(
          (plugin): plugin is AdmissionPlugin & Chain["admitting"][number] => plugin.admit !== undefined,
        ),
        validating: asked.filter(
          (plugin): plugin is AdmissionPlugin & Chain["validating"][number] => plugin.validate !== undefined,
        ),
        settling: asked.filter(
          (plugin): plugin is AdmissionPlugin & Chain["settling"][number] => plugin.settled !== undefined,
        ),
      }
      chains[operation].set(resource, chain)
    }
    return chain
  }
  return {
    admit(attributes) {
      const { admitting } = chainFor(attributes)
      return admitting.some((plugin) => plugin.mayReinvoke?.() === true)
        ? admitInRounds(admitting, attributes)
        : admitFrom(0, admitting, attributes)
    },
    validate: (attributes) => validateFrom(0, chainFor(attributes).validating, attributes),
    settled(attributes, written) {
      for (const plugin of chainFor(attributes).settling) plugin.settled(attributes, written)
    },
  }
}

/**
 * Every plugin, and all of them a second time where webhooks or policies changed the object. Source:
 * pkg/admission/reinvocation.go.
 */
async function admitInRounds(
  plugins: Chain["admitting"],
  attributes: AdmissionAttributes,
): Promise<KubeObject | undefined> {
  const reinvocation = new Reinvocation()
  const object = await admitFrom(0, plugins, { ...attributes, reinvocation })
  if (!reinvocation.isDue) return object
  reinvocation.round = 1
  return admitFrom(0, plugins, withObject({ ...attributes, reinvocation }, object))
}

function admitFrom(
  first: number,
  plugins: Chain["admitting"],
  attributes: AdmissionAttributes,
): KubeObject | undefined | Promise<KubeObject | undefined> {
  let current = attributes
  for (let i = first; i < plugins.length; i++) {
    const admitted = plugins[i]!.admit(current)
    if (admitted instanceof Promise)
      return admitted.then((object) => admitFrom(i + 1, plugins, withObject(current, object)))
    current = withObject(current, admitted)
  }
  return current.object
}

const withObject = (attributes: AdmissionAttributes, object: KubeObject | undefined): AdmissionAttributes =>
  object === undefined ? attributes : { ...attributes, object }

function validateFrom(
  first: number,
  plugins: Chain["validating"],
  attributes: AdmissionAttributes,
): void | Promise<void> {
  for (let i = first; i < plugins.length; i++) {
    const checked = plugins[i]!.validate(attributes)
    if (checked instanceof Promise) return checked.then(() => validateFrom(i + 1, plugins, attributes))
  }
}
