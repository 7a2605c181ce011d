import { createHash } from "node:crypto"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { NoRegularFile } from "../../pkg/files/regular-file.ts"
import { WorkQueue } from "../../pkg/controller/workqueue.ts"
import { WAIT_MS } from "../../pkg/quarantine/quarantine.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { Addons } from "./addons.ts"
import { ManifestFault, parseManifest, type ManifestObject } from "./documents.ts"
import type { ManifestFolder } from "./folder.ts"
import { Inventory, sameObject, type Deployed } from "./inventory.ts"

export interface DeployerConfig {
  readonly folder: ManifestFolder
  /** Manifests that are part of the program: file name → text. One in the folder of the same name takes its place. */
  readonly embedded: ReadonlyMap<string, string>
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  /**
   * Whether other servers of the cluster have folders too: then a file that is not there at the start may be another
   * server's, and what it made stays.
   */
  readonly besideOthers?: boolean
  /** Whether manifests are shown as Addons. */
  readonly showsAddons?: boolean
}

/** On every object that a manifest made: the file. */
export const MANIFEST_ANNOTATION = "k3ts.io/manifest"
const MANAGER = "k3ts-deployer"
const MANIFEST = /\.(ya?ml|json)$/
const SKIP = ".skip"

/** A program that writes a file does so in several steps. */
const SETTLE_MS = 200
/**
 * First and longest wait after a failure: what is missing (a namespace, a kind, a webhook's pod) mostly comes within
 * seconds.
 */
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000

const SET_ASIDE =
  "work on it has ended the server twice, or kept it from everything else; edit it, or run k3ts quarantine free"

/**
 * Keeps the cluster as the manifests say: applies them at start and when one changes, and removes what one had made and
 * does not name any more. A file `x.yaml.skip` beside `x.yaml` makes it be passed over: what it made stays. Source of
 * the semantics: k3s pkg/deploy.
 *
 * One file is worked on at a time. An object belongs to the file whose name its annotation has: so one that moves from
 * a file to another is not removed when the first file loses it, whichever is seen first.
 */
export function createDeployer(
  context: ComponentContext,
  { folder, embedded, resourceOf, besideOthers = false, showsAddons = false }: DeployerConfig,
): Component {
  const { client, clock } = context
  const log = context.log.child({ component: "deployer" })
  const place = context.quarantine?.place("manifests")
  const inventory = new Inventory(client)
  const addons = showsAddons ? new Addons({ ...context, log }, resourceOf) : undefined
  const applied = new Map<string, string>()
  const retries = new Map<string, number>()
  const problems = new Map<string, string>()
  /** What the folder had at its last change. */
  let files: readonly string[] = []
  let unlisted: ReadonlyMap<string, string> = new Map()
  let queue: WorkQueue | undefined
  let working: Promise<void> | undefined
  let unwatch = (): void => undefined

  function pump(): void {
    if (working !== undefined || queue === undefined || queue.length === 0) return
    const current = queue
    working = work(current).finally(() => {
      working = undefined
      pump()
    })
  }

  async function work(current: WorkQueue): Promise<void> {
    const file = current.take()
    if (file === undefined) return
    let faults: readonly string[]
    try {
      const fate = place?.fate(file, () => editionOfFile(file)) ?? "go"
      if (fate !== "go") {
        current.done(file)
        return skip(current, file, fate)
      }
      faults = await (place === undefined ? deploy(file) : place.during(file, () => deploy(file)))
    } catch (err) {
      faults = [errorMessage(err)]
      if (err instanceof ManifestFault || err instanceof NoRegularFile) {
        current.done(file)
        problems.set(file, err.message)
        log.error("Failed to read a manifest", { file, fault: err.message })
        addons?.note(file, { kind: "failed", text: "", message: err.message })
        return
      }
    }
    current.done(file)
    if (current !== queue) return
    if (faults.length === 0) {
      retries.delete(file)
      problems.delete(file)
      return
    }
    problems.set(file, faults.join("; "))
    const wait = retries.get(file) ?? FIRST_RETRY_MS
    retries.set(file, Math.min(wait * 2, LONGEST_RETRY_MS))
    for (const fault of faults) log.error("Failed to apply a manifest; will retry", { file, fault, waitMs: wait })
    current.addAfter(file, wait)
  }

  /** Leaves a file as it is that may have ended the process, or has. It is looked at again, as it may be freed. */
  function skip(current: WorkQueue, file: string, fate: "wait" | "skip"): void {
    current.addAfter(file, fate === "wait" ? WAIT_MS : LONGEST_RETRY_MS)
    if (fate === "wait" || problems.get(file) === SET_ASIDE) return
    problems.set(file, SET_ASIDE)
    log.error("Skipped a manifest", { file, fault: SET_ASIDE })
  }

  const textOf = (file: string): string | undefined => folder.read(file) ?? embedded.get(file)

  function editionOfFile(file: string): string | undefined {
    const text = textOf(file)
    return text === undefined ? undefined : createHash("sha256").update(text).digest("hex")
  }

  /** Lists the files of the folder. Says which folders cannot be listed, once each. */
  function list(): void {
    const listing = folder.list()
    for (const [path, fault] of listing.faults) {
      if (unlisted.get(path) !== fault) log.error("Failed to list a folder of manifests", { folder: path, fault })
    }
    files = listing.files
    unlisted = listing.faults
  }

  /** Makes the cluster what the file says. Gives what went wrong. */
  async function deploy(file: string): Promise<readonly string[]> {
    if (files.includes(file + SKIP)) return []
    const text = textOf(file)
    if (text !== undefined && applied.get(file) === text) return []
    const objects = text === undefined ? [] : parseManifest(text)
    // Asked for again at the end: a definition in the file says whether its objects are in namespaces.
    const refs = (): readonly Deployed[] => objects.map(refOf)
    const wanted = refs()
    const before = inventory.of(file)
    const gone = before.filter((old) => !wanted.some((ref) => sameObject(ref, old)))
    await inventory.set(file, [...wanted, ...gone])

    const faults: string[] = []
    for (const object of objects) {
      try {
        await apply(object, refOf(object), file)
      } catch (err) {
        faults.push(`document ${object.document}, ${describe(refOf(object))}: ${errorMessage(err)}`)
      }
    }
    const left: Deployed[] = []
    for (const ref of gone.toReversed()) {
      // in the reverse of their order: a namespace after what is in it
      try {
        await remove(ref, file)
      } catch (err) {
        left.unshift(ref)
        faults.push(`removing ${describe(ref)}: ${errorMessage(err)}`)
      }
    }
    await inventory.set(file, [...refs(), ...left])
    if (faults.length > 0) applied.delete(file)
    else if (text === undefined) applied.delete(file)
    else applied.set(file, text)
    if (text === undefined) addons?.note(file, { kind: "removed" })
    else if (faults.length > 0) addons?.note(file, { kind: "failed", text, message: faults.join("; ") })
    else addons?.note(file, { kind: "applied", text })
    if (faults.length === 0)
      log.info(text === undefined ? "Removed what a manifest had made" : "Applied manifest", {
        file,
        objects: wanted.length,
        removed: gone.length,
      })
    return faults
  }

  /** Where the kind is cluster-wide a namespace means nothing, and where it is not there must be one. */
  function refOf({ apiVersion, kind, name, namespace }: ManifestObject): Deployed {
    const resource = resourceOf(apiVersion, kind)
    const inNamespace =
      resource === undefined ? namespace : resource.scope === "Namespaced" ? (namespace ?? "default") : undefined
    return { apiVersion, kind, name, ...(inNamespace === undefined ? {} : { namespace: inNamespace }) }
  }

  async function apply({ body }: ManifestObject, ref: Deployed, file: string): Promise<void> {
    const resource = knownKind(ref)
    const metadata = (body.metadata ?? {}) as Readonly<Record<string, unknown>>
    const annotations = { ...(metadata.annotations as object | undefined), [MANIFEST_ANNOTATION]: file }
    const { name, namespace } = ref
    const whole = { ...body, metadata: { ...metadata, ...(namespace === undefined ? {} : { namespace }), annotations } }
    await client.patch(
      resource,
      { name, namespace },
      { type: "apply", body: whole },
      { fieldManager: MANAGER, force: true, fieldValidation: "Strict" },
    )
  }

  async function remove(ref: Deployed, file: string): Promise<void> {
    const resource = resourceOf(ref.apiVersion, ref.kind)
    if (resource === undefined) return // the kind went, and with it all objects
    let object: KubeObject
    try {
      object = await client.get(resource, ref)
    } catch (err) {
      if (isNotFound(err)) return
      throw err
    }
    if (object.metadata.annotations?.[MANIFEST_ANNOTATION] !== file) return
    const { uid } = object.metadata
    await client
      .delete(resource, ref, {
        propagationPolicy: "Background",
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      })
      .catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
  }

  function knownKind({ apiVersion, kind }: Deployed): Resource {
    const resource = resourceOf(apiVersion, kind)
    if (resource === undefined) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`)
    return resource
  }

  function changed(name: string | undefined): void {
    list()
    // What changes may be a folder of manifests that comes or goes.
    const any = name === undefined || !MANIFEST.test(name.endsWith(SKIP) ? name.slice(0, -SKIP.length) : name)
    const some = any ? [...files, ...embedded.keys(), ...problems.keys(), ...applied.keys()] : [name]
    for (const file of new Set(some)) {
      const manifest = file.endsWith(SKIP) ? file.slice(0, -SKIP.length) : file
      if (!MANIFEST.test(manifest)) continue
      retries.delete(manifest)
      queue?.addAfter(manifest, SETTLE_MS)
    }
  }

  return {
    name: "deployer",
    problem() {
      const [first] = [...problems, ...unlisted]
      return first === undefined ? undefined : `${first[0]}: ${first[1]}`
    },
    async start(signal) {
      const known = await inventory.load()
      signal.throwIfAborted()
      applied.clear()
      queue = new WorkQueue(clock, pump)
      unwatch = folder.watch(changed)
      const others = besideOthers ? [] : known
      list()
      for (const file of new Set([...embedded.keys(), ...files.toSorted(), ...others]))
        if (MANIFEST.test(file)) queue.add(file)
    },
    async stop() {
      unwatch()
      queue?.stop()
      queue = undefined
      await working
      await addons?.stop()
    },
  }
}

const describe = ({ kind, namespace, name }: Deployed): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`
