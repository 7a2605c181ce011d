import { qualified } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { RequestOptions, UserInfo } from "../call/request.ts"
import type { Write } from "../../../pkg/storage/storage.ts"
import { Reinvocation } from "./reinvocation.ts"
import type { Operation } from "../webhooks/review.ts"
import { isPending } from "../call/maybe-promise.ts"

/** The request that admission plugins examine. Source: apiserver pkg/admission/attributes.go. */
export interface AdmissionAttributes {
  readonly operation: Operation
  readonly resource: Resource
  readonly subresource: string | undefined
  readonly namespace: string | undefined
  /** Empty while the name has not been generated from generateName. */
  readonly name: string
  readonly user: UserInfo
  readonly options: RequestOptions
  /**
   * The object to be stored; for a subresource of another kind, such as `binding`, the object of that kind; undefined
   * for a deletion.
   */
  readonly object: KubeObject | undefined
  /** The object as it is stored now; undefined for a creation. */
  readonly old: KubeObject | undefined
  warn(text: string): void
  /** Adds an annotation to the audit event of the request; absent when no audit event is written. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
  /** Notes milliseconds that the request waited for webhooks. */
  readonly waited?: ((ms: number) => void) | undefined
  /**
   * Decides which webhooks and policies run again in a second round; present only while webhooks or mutating policies
   * exist.
   */
  readonly reinvocation?: Reinvocation
}

/**
 * A check of authorized requests. `admit` may return a changed copy of the object, `validate` only refuses; both refuse
 * by throwing ApiError. A plugin returns a promise only when it must wait, since a promise delays the request by a turn
 * of the event loop.
 */
export interface AdmissionPlugin {
  readonly name: string
  readonly operations: readonly Operation[]
  /**
   * The kinds for which the plugin is called (`pods`, `leases.coordination.k8s.io`), with their subresources. All kinds
   * when undefined.
   */
  readonly kinds?: readonly string[]
  /** Selects kinds by what they declare, where `kinds` would be a list that somebody has to keep complete. */
  concerns?(resource: Resource): boolean
  admit?(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined>
  validate?(attributes: AdmissionAttributes): void | Promise<void>
  /**
   * Called when the write that `validate` allowed was stored or failed, so that a plugin such as ResourceQuota can
   * release what it reserved for the write.
   */
  settled?(attributes: AdmissionAttributes, written: boolean): void
  /** Returns more writes for the transaction of a write that `validate` allowed. */
  alongside?(attributes: AdmissionAttributes): readonly Write[]
  /** Whether `admit` may request a second round of all plugins. Never when undefined. */
  mayReinvoke?(): boolean
}

/** The attributes of a request whose object has a known kind. */
export interface AttributesOf<T extends KubeObject> extends AdmissionAttributes {
  readonly object: T
  /** The object as it is stored now; undefined for a creation. */
  readonly old: T | undefined
}

/** A plugin, or a part of one, that is called for objects of one kind. */
export interface KindPlugin<T extends KubeObject> extends Pick<AdmissionPlugin, "name"> {
  readonly operations: readonly ("CREATE" | "UPDATE")[]
  /**
   * The subresources for which the plugin is called. Each must have the whole object as its body (`status`, `resize`).
   * `undefined` stands for the object itself, and is the only entry by default.
   */
  readonly subresources?: readonly (string | undefined)[]
  admit?(attributes: AttributesOf<T>): T | undefined | Promise<T | undefined>
  validate?(attributes: AttributesOf<T>): void | Promise<void>
}

const ITSELF = [undefined]

/**
 * Makes a plugin that is called for objects of `resource` only, and receives them with their type. A plugin for several
 * kinds is a list of such plugins.
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

/** All plugins as one. Returns a promise only when one of them does. */
export interface Admission {
  /**
   * Calls `admit` of every plugin in order, each with the object that the plugin before it returned. Returns the last
   * object.
   */
  admit(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined>
  validate(attributes: AdmissionAttributes): void | Promise<void>
  settled(attributes: AdmissionAttributes, written: boolean): void
  /** Returns more writes for the transaction of a write that `validate` allowed. */
  alongside(attributes: AdmissionAttributes): readonly Write[]
}

/** The plugins that are called for one operation on one kind. */
interface Chain {
  readonly admitting: readonly (AdmissionPlugin & Required<Pick<AdmissionPlugin, "admit">>)[]
  readonly validating: readonly Required<Pick<AdmissionPlugin, "validate">>[]
  readonly settling: readonly Required<Pick<AdmissionPlugin, "settled">>[]
  readonly adding: readonly Required<Pick<AdmissionPlugin, "alongside">>[]
}

const NO_WRITES: readonly Write[] = []

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
        adding: asked.filter(
          (plugin): plugin is AdmissionPlugin & Chain["adding"][number] => plugin.alongside !== undefined,
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
    alongside(attributes) {
      const { adding } = chainFor(attributes)
      return adding.length === 0 ? NO_WRITES : adding.flatMap((plugin) => plugin.alongside(attributes))
    },
  }
}

/**
 * Calls every plugin, and calls all of them a second time if a webhook or a policy changed the object. Source:
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
    if (isPending(admitted)) return admitted.then((object) => admitFrom(i + 1, plugins, withObject(current, object)))
    current = withObject(current, admitted)
  }
  return current.object
}

const withObject = (attributes: AdmissionAttributes, object: KubeObject | undefined): AdmissionAttributes =>
  object === undefined || object === attributes.object ? attributes : { ...attributes, object }

function validateFrom(
  first: number,
  plugins: Chain["validating"],
  attributes: AdmissionAttributes,
): void | Promise<void> {
  for (let i = first; i < plugins.length; i++) {
    const checked = plugins[i]!.validate(attributes)
    if (isPending(checked)) return checked.then(() => validateFrom(i + 1, plugins, attributes))
  }
}
