import type { Annotate } from "../call/annotate.ts"
import { qualified } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { RequestOptions, UserInfo } from "../call/request.ts"
import type { Write } from "../../../pkg/storage/storage.ts"
import type { AdmissionMetrics, Durations, Laps } from "./admission-metrics.ts"
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
  readonly annotate?: Annotate | undefined
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
  readonly admitting: readonly Step<"admit">[]
  readonly validating: readonly Step<"validate">[]
  readonly settling: readonly Having<"settled">[]
  readonly adding: readonly Having<"alongside">[]
}
type Having<Part extends keyof AdmissionPlugin> = AdmissionPlugin & Required<Pick<AdmissionPlugin, Part>>
interface Step<Part extends "admit" | "validate"> {
  readonly plugin: Having<Part>
  /** Undefined where nobody measures how long plugins take. */
  readonly durations: Durations | undefined
}

const NO_WRITES: readonly Write[] = []

/** @param metrics measures each plugin */
export function chainOf(plugins: readonly AdmissionPlugin[], metrics?: AdmissionMetrics): Admission {
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
      const having = <Part extends keyof AdmissionPlugin>(part: Part) =>
        asked.filter((plugin): plugin is Having<Part> => plugin[part] !== undefined)
      const steps = <Part extends "admit" | "validate">(part: Part): readonly Step<Part>[] =>
        having(part).map((plugin) => ({ plugin, durations: metrics?.plugin(plugin.name, part, operation) }))
      chain = {
        admitting: steps("admit"),
        validating: steps("validate"),
        settling: having("settled"),
        adding: having("alongside"),
      }
      chains[operation].set(resource, chain)
    }
    return chain
  }
  return {
    admit(attributes) {
      const { admitting } = chainFor(attributes)
      return admitting.some(({ plugin }) => plugin.mayReinvoke?.() === true)
        ? admitInRounds(admitting, attributes, metrics)
        : admitFrom(0, admitting, attributes, metrics?.laps())
    },
    validate: (attributes) => validateFrom(0, chainFor(attributes).validating, attributes, metrics?.laps()),
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
  steps: Chain["admitting"],
  attributes: AdmissionAttributes,
  metrics: AdmissionMetrics | undefined,
): Promise<KubeObject | undefined> {
  const reinvocation = new Reinvocation()
  const object = await admitFrom(0, steps, { ...attributes, reinvocation }, metrics?.laps())
  if (!reinvocation.isDue) return object
  reinvocation.round = 1
  return admitFrom(0, steps, withObject({ ...attributes, reinvocation }, object), metrics?.laps())
}

function admitFrom(
  first: number,
  steps: Chain["admitting"],
  attributes: AdmissionAttributes,
  laps: Laps | undefined,
): KubeObject | undefined | Promise<KubeObject | undefined> {
  let current = attributes
  let i = first
  try {
    for (; i < steps.length; i++) {
      const { plugin, durations } = steps[i]!
      const admitted = plugin.admit(current)
      if (isPending(admitted)) return admitLater(admitted, i, steps, current, laps)
      laps?.passed(durations)
      current = withObject(current, admitted)
    }
  } catch (err) {
    laps?.refused(steps[i]!.durations)
    throw err
  }
  return current.object
}

/** Goes on when the plugin of the step at `index` has its answer. */
const admitLater = (
  pending: Promise<KubeObject | undefined>,
  index: number,
  steps: Chain["admitting"],
  attributes: AdmissionAttributes,
  laps: Laps | undefined,
): Promise<KubeObject | undefined> =>
  lapped(pending, steps[index]!, laps).then((object) =>
    admitFrom(index + 1, steps, withObject(attributes, object), laps),
  )

const withObject = (attributes: AdmissionAttributes, object: KubeObject | undefined): AdmissionAttributes =>
  object === undefined || object === attributes.object ? attributes : { ...attributes, object }

function validateFrom(
  first: number,
  steps: Chain["validating"],
  attributes: AdmissionAttributes,
  laps: Laps | undefined,
): void | Promise<void> {
  let i = first
  try {
    for (; i < steps.length; i++) {
      const { plugin, durations } = steps[i]!
      const checked = plugin.validate(attributes)
      if (isPending(checked)) return validateLater(checked, i, steps, attributes, laps)
      laps?.passed(durations)
    }
  } catch (err) {
    laps?.refused(steps[i]!.durations)
    throw err
  }
}

const validateLater = (
  pending: Promise<void>,
  index: number,
  steps: Chain["validating"],
  attributes: AdmissionAttributes,
  laps: Laps | undefined,
): Promise<void> => lapped(pending, steps[index]!, laps).then(() => validateFrom(index + 1, steps, attributes, laps))

/** Measures a plugin that takes time. */
function lapped<T>(
  pending: Promise<T>,
  { durations }: Step<"admit"> | Step<"validate">,
  laps: Laps | undefined,
): Promise<T> {
  if (laps === undefined) return pending
  return pending.then(
    (value) => {
      laps.passed(durations)
      return value
    },
    (err: unknown) => {
      laps.refused(durations)
      throw err
    },
  )
}
