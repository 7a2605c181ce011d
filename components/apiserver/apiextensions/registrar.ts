import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { isEstablished } from "../../../pkg/api/apiextensions/v1/validation/definition.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { timestamp, type Clock } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { editionOf } from "../../../pkg/quarantine/edition.ts"
import type { Quarantine, QuarantinePlace } from "../../../pkg/quarantine/quarantine.ts"
import { Seam } from "../../../pkg/quarantine/seam.ts"
import { StorageError, type Storage } from "../../../pkg/storage/storage.ts"
import { StoredKind } from "../cacher/stored-kind.ts"
import { storageKey } from "../cacher/view.ts"
import type { Convert } from "./conversion/webhook-converter.ts"
import { customResourcesOf, type CustomResource, type Era } from "./custom-resource.ts"
import { unnoted, type Note } from "./note.ts"
import { asWritten, conditionOf } from "./conditions.ts"
import { named } from "./names.ts"

/** The names under which definitions are set aside: by what is made of them, and by the work on one of their objects. */
const DEFINITIONS = "apiextensions"
const CUSTOM_OBJECTS = "custom-objects"
/** What follows the name of a definition where its own names are accepted. */
const NAMES = "/names"
const nameIn = (key: string): string => (key.endsWith(NAMES) ? key.slice(0, -NAMES.length) : key)

/**
 * Keeps the scheme in step with the stored definitions. A definition gets its names, is Established and served in the
 * turn of the commit that shows it, before any client can see it. A change of a definition ends the watches of its
 * objects, so that clients list them again. A definition that is left out is served as it was before, or not at all.
 */
export class Registrar {
  readonly #storage: Storage
  readonly #stored: StoredKind<CustomResourceDefinition>
  readonly #scheme: Scheme
  readonly #clock: Clock
  readonly #log: Logger
  readonly #seam: Seam
  readonly #objectsNoted: QuarantinePlace | undefined
  readonly #served = new Map<string, Served>()
  /** Writes of definitions' statuses in progress, by the names of the definitions. */
  readonly #pending = new Map<string, Promise<void>>()
  readonly #converterOf: (definition: CustomResourceDefinition) => Convert
  readonly #changed: (resources: readonly CustomResource[]) => void
  readonly #unsubscribe: () => void

  /**
   * `changed` gets the resources that are no longer served, or are served differently. `converterOf` returns the
   * converter that calls the conversion webhook of a definition.
   */
  constructor({
    storage,
    scheme,
    clock,
    log,
    quarantine,
    converterOf,
    changed,
    leftOut,
  }: {
    readonly storage: Storage
    readonly scheme: Scheme
    readonly clock: Clock
    readonly log: Logger
    readonly quarantine?: Quarantine | undefined
    readonly converterOf: (definition: CustomResourceDefinition) => Convert
    readonly changed: (resources: readonly CustomResource[]) => void
    /** Called once for a definition that is left out, until it is worked on again: see `Seam`. */
    readonly leftOut: (definition: CustomResourceDefinition | undefined, reason: string, why: string) => void
  }) {
    this.#storage = storage
    this.#stored = new StoredKind(storage, CustomResourceDefinition)
    this.#scheme = scheme
    this.#clock = clock
    this.#log = log
    this.#converterOf = converterOf
    this.#changed = changed
    this.#objectsNoted = quarantine?.place(CUSTOM_OBJECTS)
    this.#seam = new Seam({
      place: "definition",
      part: DEFINITIONS,
      later: CUSTOM_OBJECTS,
      quarantine,
      clock,
      log,
      again: (key) => this.#take(new Set([nameIn(key)])),
      leftOut: (key, reason, why) => {
        const name = nameIn(key)
        leftOut(
          this.#definitions().find(({ metadata }) => metadata.name === name),
          reason,
          why,
        )
      },
    })
    const all = this.#definitions()
    this.#take(new Set(all.map(({ metadata: { name = "" } }) => name)))
    const { prefix } = this.#stored
    this.#unsubscribe = storage.subscribe(
      (events) => this.#take(new Set(events.map(({ key }) => key.slice(prefix.length)))),
      [prefix],
    )
  }

  close(): void {
    this.#unsubscribe()
    this.#seam.stop()
  }

  /**
   * Called before a write with the resource that the request began with. Returns false when that definition no longer
   * exists.
   */
  stillServed({ group, plural, definition }: CustomResource): boolean {
    const served = this.#served.get(`${plural}.${group}`)
    if (served === undefined || served.definition.metadata.uid !== definition.uid) return false
    // The object was prepared under an older state of the definition, so it may not have the form of the current
    // storage version.
    if (served.definition.metadata.uid === definition.uid && !served.holds(definition)) served.era.from = Infinity
    return true
  }

  /** Resolves when a definition that was written has its names, and is served if it can be. */
  async settled(name: string): Promise<void> {
    for (let pending = this.#pending.get(name); pending !== undefined; pending = this.#pending.get(name)) await pending
  }

  #definitions(): readonly CustomResourceDefinition[] {
    return this.#stored.list().map(({ object }) => object)
  }

  #definition(name: string): CustomResourceDefinition | undefined {
    return this.#stored.get({ name })?.object
  }

  #take(names: ReadonlySet<string>): void {
    const groups = new Set<string>()
    const left = new Set<string>()
    this.#scheme.update(() => {
      for (const name of names) {
        const done = this.#alone(name, name, () => {
          const definition = this.#definition(name)
          const before = this.#served.get(name)
          if (definition === undefined) {
            if (before !== undefined) groups.add(before.definition.spec.group)
            this.#withdraw(name)
          } else {
            if (before === undefined || before.definition.status !== definition.status)
              groups.add(definition.spec.group)
            this.#serve(definition)
          }
        })
        if (!done) left.add(name)
      }
    })
    // Names that one definition no longer uses may be those that another one waits for.
    for (const definition of this.#definitions()) {
      const { name = "" } = definition.metadata
      if (left.has(name)) continue
      if (names.has(name) || (groups.has(definition.spec.group) && isWaiting(definition)))
        this.#alone(name, `${name}${NAMES}`, () => this.#name(definition))
    }
  }

  /**
   * Does something for one definition, and returns whether it was done. A definition that cannot be served, or is set
   * aside, keeps neither the others nor a start.
   */
  #alone(name: string, key: string, run: () => void): boolean {
    const seen = () => {
      const definition = this.#definition(name)
      return definition === undefined ? undefined : editionOf(definition)
    }
    return this.#seam.run(key, seen, run) !== undefined
  }

  /** Writes accepted names and conditions of a definition, if they change. The event of the write calls this again. */
  #name(definition: CustomResourceDefinition): void {
    const others = this.#definitions().filter(
      (other) => other.spec.group === definition.spec.group && other.metadata.name !== definition.metadata.name,
    )
    const next = named(definition, others, timestamp(this.#clock))
    if (next === definition) return
    const name = definition.metadata.name ?? ""
    const pending = this.#storage
      .write({
        key: storageKey(CustomResourceDefinition, definition.metadata),
        object: asWritten(definition, next, timestamp(this.#clock)),
        expected: Number(definition.metadata.resourceVersion),
        time: this.#clock.now(),
        author: "system:apiserver",
      })
      .then(
        () => undefined,
        (error: unknown) => {
          // The definition was changed concurrently; the event of that change calls this again.
          if (!(error instanceof StorageError && (error.code === "conflict" || error.code === "missing")))
            this.#log.error("Failed to write the names of a CustomResourceDefinition", {
              definition: definition.metadata.name,
              error,
            })
        },
      )
      .finally(() => {
        if (this.#pending.get(name) === pending) this.#pending.delete(name)
      })
    this.#pending.set(name, pending)
  }

  #serve(definition: CustomResourceDefinition): void {
    const name = definition.metadata.name ?? ""
    const before = this.#served.get(name)
    if (!isEstablished(definition)) return this.#withdraw(name)
    if (before !== undefined && isSame(before.definition, definition)) {
      before.definition = definition
      return
    }
    const era: Era = { from: this.#storage.revision }
    const noted = this.#objectsNoted
    const note: Note = noted === undefined ? unnoted : (work) => noted.among(name, work)
    const made = customResourcesOf(definition, era, this.#converterOf, note)
    this.#withdraw(name)
    // A definition cannot replace a built-in kind.
    const resources = made.filter(
      ({ group, version, plural }) => this.#scheme.resource(group, version, plural) === undefined,
    )
    for (const resource of resources) this.#scheme.add(resource)
    const identities = new Set<object>(resources.map((resource) => resource.definition))
    this.#served.set(name, { definition, era, resources, holds: (identity) => identities.has(identity) })
  }

  #withdraw(name: string): void {
    const served = this.#served.get(name)
    if (served === undefined) return
    this.#served.delete(name)
    for (const resource of served.resources) this.#scheme.remove(resource)
    this.#changed(served.resources)
  }
}

interface Served {
  definition: CustomResourceDefinition
  readonly era: Era
  readonly resources: readonly CustomResource[]
  /** Whether a definition does not have all the names that it asks for. */
  holds(identity: object): boolean
}

/** Whether a definition waits for names that another one has. */
const isWaiting = (definition: CustomResourceDefinition): boolean =>
  conditionOf(definition, "NamesAccepted")?.status !== "True"

/** Whether two states of a definition are served in the same way. */
const isSame = (a: CustomResourceDefinition, b: CustomResourceDefinition): boolean =>
  (a.spec === b.spec || deepEqual(a.spec, b.spec)) &&
  a.metadata.uid === b.metadata.uid &&
  deepEqual(a.status.acceptedNames, b.status.acceptedNames) &&
  (a.metadata.deletionTimestamp === undefined) === (b.metadata.deletionTimestamp === undefined)
